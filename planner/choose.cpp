#include "planner/choose.hpp"
