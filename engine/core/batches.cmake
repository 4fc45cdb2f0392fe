# Files compiled several at a time: what they all include, and what they make of templates, costs
# once a batch. For builds of everything, as `make test` does on a clean clone; who edits one file
# would wait for its whole batch. A file still includes what it uses: `make sanitize` compiles each
# by itself. And what it keeps to itself has a name that no other file of its library has.
set(surplus_batches OFF)
if("$ENV{SURPLUS_BATCHES}")
  set(surplus_batches ON)
endif()
# As long as a folder lives, what it was first configured with holds.
option(SURPLUS_BATCHES "Compile several files at a time" ${surplus_batches})

# Up to `size` files of a target.
function(surplus_batches target size)
  if(SURPLUS_BATCHES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()
