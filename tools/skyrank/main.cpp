#include "tools/skyrank/commands.hpp"

int main(int argc, char** argv) { return skyrank::tools::main(argc, argv); }
