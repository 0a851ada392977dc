-- Runs transactions when it is told to, and records each of them. Shared by the workloads.
--
-- What a workload shares with the program that started it (benchmarks/drivers/sysbench.py):
--   --control   a file that both map, a `recorder_control`: the word of command (wait, go, stop)
--               and the state of each thread
--   --records   each thread N writes one `recorder_record` per transaction into the files PREFIX.N.0,
--               PREFIX.N.1, ... which are whole when they have that name, and can be deleted

local ffi = require("ffi")

ffi.cdef[[
typedef struct { long seconds, nanoseconds; } recorder_time;
int clock_gettime(int clock, recorder_time *now);
int usleep(unsigned int microseconds);

typedef struct { void *stream; } recorder_file;
recorder_file *fopen(const char *path, const char *mode);
int fileno(recorder_file *file);
size_t fwrite(const void *data, size_t size, size_t count, recorder_file *file);
int fclose(recorder_file *file);
int rename(const char *from, const char *to);
void *mmap(void *address, size_t length, int protection, int flags, int fd, long offset);

/* What is mapped; pthread_mutex_t and pthread_mutexattr_t take less than 64 bytes. */
typedef struct {
   volatile int32_t command;
   volatile int32_t dealt;
   volatile uint8_t deck[24];  /* of tpcc.lua: a deck that all threads draw from */
   uint64_t lock[8];
   volatile int32_t state[1];  /* in fact one for each thread */
} recorder_control;
int pthread_mutexattr_init(void *attributes);
int pthread_mutexattr_setpshared(void *attributes, int shared);
int pthread_mutex_init(void *mutex, const void *attributes);
int pthread_mutex_lock(void *mutex);
int pthread_mutex_unlock(void *mutex);

/* One transaction; 16 bytes. Read by benchmarks/drivers/sysbench_records.py. */
typedef struct {
   double ended;            /* seconds of CLOCK_MONOTONIC */
   float response_ms;
   uint16_t retries;
   uint8_t kind;
   uint8_t failed;
} recorder_record;
]]

local C = ffi.C
local CLOCK_MONOTONIC = 1
local READ_WRITE, MAP_SHARED = 3, 1
-- Words of command, and states of a thread.
local WAIT, GO, STOP = 0, 1, 2
local READY, ENDED, BROKEN = 1, 2, -1
local POLL_US = 1000
-- How many records wait in memory before they are written: 64 KB.
local BUFFERED = 4096
-- Each thread maps the file at another address. Only a lock that processes could share wakes up
-- those who wait for it at other addresses.
local PROCESS_SHARED = 1

local M = {}
local control -- the mapped file, shared with all other threads

local function map_control(threads)
   local file = C.fopen(sysbench.opt.control, "r+")
   assert(file ~= nil, "cannot open the control file")
   local size = ffi.offsetof("recorder_control", "state") + 4 * threads
   local address = C.mmap(nil, size, READ_WRITE, MAP_SHARED, C.fileno(file), 0)
   assert(ffi.cast("intptr_t", address) ~= -1, "cannot map the control file")
   C.fclose(file)
   return ffi.cast("recorder_control *", address)
end

-- A workload's options with those of the recorder.
function M.options(options)
   options.control = {"File shared with the program that started us", ""}
   options.records = {"Beginning of the names of the files of records", ""}
   return options
end

-- Once, before the threads begin.
function M.init()
   local attributes = ffi.new("uint64_t[8]")
   C.pthread_mutexattr_init(attributes)
   C.pthread_mutexattr_setpshared(attributes, PROCESS_SHARED)
   C.pthread_mutex_init(map_control(sysbench.opt.threads).lock, attributes)
end

-- Take the lock of all threads; returns what they share.
function M.lock()
   C.pthread_mutex_lock(control.lock)
   return control
end

function M.unlock()
   C.pthread_mutex_unlock(control.lock)
end

function M.goes_on()
   return control.command == GO
end

local clock = ffi.new("recorder_time")

function M.seconds()
   C.clock_gettime(CLOCK_MONOTONIC, clock)
   return tonumber(clock.seconds) + tonumber(clock.nanoseconds) * 1e-9
end

local function work(thread, transact)
   local buffer, filled = ffi.new("recorder_record[?]", BUFFERED), 0
   local written = 0 -- files
   local function write()
      local name = sysbench.opt.records .. "." .. thread
      local file = C.fopen(name, "w")
      assert(file ~= nil, "cannot create a file of records")
      local complete = C.fwrite(buffer, ffi.sizeof("recorder_record"), filled, file) == filled
      assert(C.fclose(file) == 0 and complete, "cannot write the records")
      assert(C.rename(name, name .. "." .. written) == 0, "cannot name the records")
      filled, written = 0, written + 1
   end
   while control.command == GO do
      local kind, began, retries, failed = transact(thread)
      local ended = M.seconds()
      local record = buffer[filled]
      record.ended, record.response_ms = ended, (ended - began) * 1000
      record.kind, record.retries, record.failed = kind, retries, failed and 1 or 0
      filled = filled + 1
      if filled == BUFFERED then write() end
   end
   write()
end

-- In place of sysbench's own loop, which only a time or a number of events can end. Connecting
-- belongs here too: sysbench gives all `thread_init` together 30 seconds.
--
-- `transact` runs a transaction and returns its kind (from 0), when it began, how many attempts
-- were begun again, and whether it failed for good. `describe` makes a text of an error.
function M.run(thread, connect, transact, describe)
   control = map_control(sysbench.opt.threads)
   local completed, problem = pcall(function()
      connect(thread)
      control.state[thread] = READY
      while control.command == WAIT do C.usleep(POLL_US) end
      work(thread, transact)
   end)
   if completed then
      control.state[thread] = ENDED
   else
      control.state[thread] = BROKEN
      control.command = STOP -- without this thread the load is no longer the one asked for
      io.stderr:write(string.format("thread %d: %s\n", thread, describe(problem)))
   end
end

-- sysbench's own report counts what went through its own loop: nothing.
function sysbench.hooks.report_cumulative()
end

return M
