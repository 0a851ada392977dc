-- One of sysbench's own OLTP scripts, run and recorded as our workloads are (recorder.lua).
--
--   OLTP_SCRIPT=oltp_read_write sysbench --config-file=FILE oltp.lua --tables=4 --table-size=100000 \
--       --control=FILE --records=PREFIX --time=0 --events=0 run
--
-- The script's statements, its random inputs and the errors that it begins again for (deadlocks,
-- lock waits) are sysbench's. The password comes in the config file.

local recorder = require("recorder")
require(os.getenv("OLTP_SCRIPT"))

local MAX_ATTEMPTS = 2000 -- as tpcc.lua

recorder.options(sysbench.cmdline.options)

local connect, checked = thread_init, init

thread_init = nil

function init()
   checked()
   recorder.init()
end

local function transact(thread)
   local began = recorder.seconds()
   for failures = 0, MAX_ATTEMPTS - 1 do
      local succeeded, problem = pcall(event, thread)
      if succeeded then return 0, began, failures, false end
      if type(problem) ~= "table" or problem.errcode ~= sysbench.error.RESTART_EVENT then
         error(problem, 0)
      end
      if not recorder.goes_on() then return 0, began, failures, true end
   end
   return 0, began, MAX_ATTEMPTS - 1, true
end

function thread_run(thread)
   recorder.run(thread, connect, transact, tostring)
end
