# The package edgekit_runtime: the files of edgekit that a Session needs, where their relative imports find each other.
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(package ${EDGEKIT_PACKAGE})
install(FILES ${root}/runtime_c/python/__init__.py ${root}/py.typed ${root}/LICENSE DESTINATION ${package})
install(FILES ${root}/runtime_c/__init__.py ${root}/runtime_c/_ffi.pyi DESTINATION ${package}/runtime_c)
foreach(module __init__ errors files ir numerics)
  install(FILES ${root}/toolkit/${module}.py DESTINATION ${package}/toolkit)
endforeach()
install(DIRECTORY ${root}/toolkit/runtime ${root}/toolkit/preprocessing DESTINATION ${package}/toolkit
        FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE REGEX "/(linear_algebra|step_errors|whole_sums|many_runs|branches|turns|custom)[.]py$" EXCLUDE) # of the toolkit alone
install(DIRECTORY ${root}/toolkit/format DESTINATION ${package}/toolkit
        FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE REGEX "/(writer|strip|describe|tables|at_sizes)[.]py$" EXCLUDE)
install(DIRECTORY ${root}/calibration DESTINATION ${package} FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
