// All of Pando.
#pragma once
#include <pando/array.h>
#include <pando/attributes.h>
#include <pando/datasets.h>
#include <pando/dtype.h>
#include <pando/error.h>
#include <pando/gradients.h>
#include <pando/graph.h>
#include <pando/ops.h>
#include <pando/program.h>
#include <pando/progress.h>
#include <pando/shape.h>
