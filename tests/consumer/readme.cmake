# Fails unless README shows PROGRAM as it is.
file(READ "${README}" readme)
file(READ "${PROGRAM}" program)
string(FIND "${readme}" "```cpp\n${program}```\n" place)
if(place EQUAL -1)
  message(FATAL_ERROR "${README} has no ```cpp block that is ${PROGRAM}, character by character.")
endif()
