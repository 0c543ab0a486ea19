# Writes a manual page from the help texts:
#   cmake -DPROGRAM=heapwood -DVERSION=V -DOUTPUT=heapwood.1 -P man_page.cmake
cmake_policy(VERSION 3.25)

function(help result)
  execute_process(COMMAND ${PROGRAM} ${ARGN} --help OUTPUT_VARIABLE text
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  # A line that starts with a dot or an apostrophe would be a request to troff.
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

execute_process(COMMAND ${PROGRAM} --help OUTPUT_VARIABLE plain COMMAND_ERROR_IS_FATAL ANY)
help(text)
set(page ".TH HEAPWOOD 1 \"\" \"heapwood ${VERSION}\" \"User Commands\"\n.SH NAME
heapwood \\- compare GPU memory allocators in a k-d tree ray tracer
.SH SYNOPSIS\n.B heapwood\n.I COMMAND\n[\\fIOPTION\\fR...]\n.SH DESCRIPTION\n.nf\n${text}.fi\n")
string(REGEX MATCHALL "\n  [a-z][a-z-]*  +[^\n]*" commands "${plain}")
foreach(line IN LISTS commands)
  string(REGEX REPLACE "\n  ([a-z-]+) .*" "\\1" command "${line}")
  help(text ${command})
  string(TOUPPER ${command} title)
  string(APPEND page ".SH COMMAND ${title}\n.nf\n${text}.fi\n")
endforeach()
file(WRITE ${OUTPUT} "${page}")
