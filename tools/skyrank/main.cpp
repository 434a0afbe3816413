#include <cstdio>

#include <skyrank/version.hpp>

int main() { std::puts(skyrank::version()); }
