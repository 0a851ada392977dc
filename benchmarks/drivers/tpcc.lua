-- TPC-C for sysbench 1.0: tpcc-mysql's schema and transaction profile, no think time.
--
--   sysbench --config-file=FILE tpcc.lua --mysql-host=127.0.0.1 --mysql-port=3306 \
--       --mysql-user=tpcc --mysql-db=tpcc --threads=8 --warehouses=10 --workload-seed=1 \
--       --control=FILE --records=PREFIX --time=0 --events=0 run
--
-- sysbench brings the threads, LuaJIT and the linked client library. Its own database functions
-- cannot read the rows of a prepared statement, so this script calls the client library's C
-- functions itself: all statements are prepared once and executed in the binary protocol, as
-- tpcc-mysql does.
--
-- recorder.lua says what it shares with the program that started it. The option --certificate names
-- a file with the server's own certificate, which is trusted alone; without it there is no TLS.
-- The password comes in the config file, so that no list of processes shows it.
--
-- Facts about tpcc-mysql in the comments are those of its commit 1ec1c5e.

local ffi = require("ffi")
local bit = require("bit")
local recorder = require("recorder")

-- ---------------------------------------------------------------------------------------------
-- Numbers of the workload
-- ---------------------------------------------------------------------------------------------

local DISTRICTS = 10
local CUSTOMERS = 3000
local ITEMS = 100000
local MAX_ATTEMPTS = 2000

-- NURand's constants C (TPC-C clause 2.1.6). tpcc-mysql draws them once but keeps them in variables
-- that lose their values, so from the second call on they are whatever the compiler left there.
-- Fixed here, so that all runs meet the same hot rows; C_LAST differs from the loader's constant
-- (173) by 81, as clause 2.1.6.1 demands (65 to 119, not 96, not 112).
local C_LAST = 92
local C_CUSTOMER = 259
local C_ITEM = 7911

-- All threads draw from one deck of 23 cards, which gives the mix 10 : 10 : 1 : 1 : 1 and, as with
-- tpcc-mysql, seldom two Deliveries at a time. With a deck for each thread there are more, and then
-- several of them deliver the same order.
local NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL = 0, 1, 2, 3, 4
local CARDS = {
   [NEW_ORDER] = 10, [PAYMENT] = 10, [ORDER_STATUS] = 1, [DELIVERY] = 1, [STOCK_LEVEL] = 1
}

local SYLLABLES = {
   [0] = "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"
}

-- ---------------------------------------------------------------------------------------------
-- The client library. MariaDB's and MySQL's agree on all of this, layout of MYSQL_BIND included.
-- ---------------------------------------------------------------------------------------------

ffi.cdef[[
typedef struct st_mysql MYSQL;
typedef struct st_mysql_stmt MYSQL_STMT;
typedef struct {
   unsigned long *length;
   char *is_null;
   void *buffer;
   char *error;
   void *internal_1[4];
   unsigned long buffer_length;
   unsigned long internal_2[2];
   unsigned int internal_3[2];
   int buffer_type;
   char internal_4[4];
   void *extension;
} MYSQL_BIND;

int mysql_server_init(int argc, char **argv, char **groups);
MYSQL *mysql_init(MYSQL *mysql);
int mysql_options(MYSQL *mysql, int option, const void *value);
char mysql_ssl_set(MYSQL *mysql, const char *key, const char *cert, const char *ca,
                   const char *capath, const char *cipher);
void mariadb_get_infov(void);  /* MariaDB's library has it, MySQL's has not; never called */
MYSQL *mysql_real_connect(MYSQL *mysql, const char *host, const char *user, const char *password,
                          const char *db, unsigned int port, const char *socket,
                          unsigned long flags);
void mysql_close(MYSQL *mysql);
void mysql_thread_end(void);
char mysql_autocommit(MYSQL *mysql, char mode);
char mysql_commit(MYSQL *mysql);
char mysql_rollback(MYSQL *mysql);
unsigned int mysql_errno(MYSQL *mysql);
const char *mysql_error(MYSQL *mysql);
MYSQL_STMT *mysql_stmt_init(MYSQL *mysql);
int mysql_stmt_prepare(MYSQL_STMT *stmt, const char *query, unsigned long length);
char mysql_stmt_bind_param(MYSQL_STMT *stmt, MYSQL_BIND *binds);
char mysql_stmt_bind_result(MYSQL_STMT *stmt, MYSQL_BIND *binds);
int mysql_stmt_execute(MYSQL_STMT *stmt);
int mysql_stmt_store_result(MYSQL_STMT *stmt);
int mysql_stmt_fetch(MYSQL_STMT *stmt);
char mysql_stmt_free_result(MYSQL_STMT *stmt);
char mysql_stmt_close(MYSQL_STMT *stmt);
unsigned int mysql_stmt_errno(MYSQL_STMT *stmt);
const char *mysql_stmt_error(MYSQL_STMT *stmt);

long time(long *now);
]]

local C = ffi.C
local TYPE_LONG, TYPE_FLOAT, TYPE_STRING = 3, 4, 254
local FETCHED, NO_DATA, TRUNCATED = 0, 100, 101

-- ---------------------------------------------------------------------------------------------
-- The values that statements take and return. Each has one place in memory for the whole run, so
-- that every statement is bound to its parameters and columns once.
-- ---------------------------------------------------------------------------------------------

local INTEGERS = {
   "w_id", "d_id", "c_id", "c_w_id", "c_d_id", "o_id", "o_ol_cnt", "o_all_local", "no_o_id",
   "ol_number", "ol_i_id", "ol_supply_w_id", "ol_quantity", "s_quantity", "names", "carrier_id",
   "threshold", "low_stock"
}
local FLOATS = {
   "c_discount", "w_tax", "d_tax", "i_price", "ol_amount", "h_amount", "c_balance", "ol_total"
}
-- With the longest text that each can hold; `skip` takes columns that nobody looks at.
local TEXTS = {
   now = 19, c_last = 16, c_credit = 2, c_data = 500, w_name = 10, d_name = 10, h_data = 24,
   ol_dist_info = 24, skip = 60, s_dist_1 = 24, s_dist_2 = 24, s_dist_3 = 24, s_dist_4 = 24,
   s_dist_5 = 24, s_dist_6 = 24, s_dist_7 = 24, s_dist_8 = 24, s_dist_9 = 24, s_dist_10 = 24
}

local function declare_values()
   local fields, lengths = {}, {}
   for _, name in ipairs(INTEGERS) do table.insert(fields, "int " .. name .. ";") end
   for _, name in ipairs(FLOATS) do table.insert(fields, "float " .. name .. ";") end
   for name, longest in pairs(TEXTS) do
      table.insert(fields, string.format("char %s[%d];", name, longest + 1))
      table.insert(lengths, "unsigned long " .. name .. ";")
   end
   ffi.cdef("typedef struct { " .. table.concat(fields) .. " } tpcc_values;")
   ffi.cdef("typedef struct { " .. table.concat(lengths) .. " } tpcc_lengths;")
end

declare_values()

local TYPES = {}
for _, name in ipairs(INTEGERS) do TYPES[name] = TYPE_LONG end
for _, name in ipairs(FLOATS) do TYPES[name] = TYPE_FLOAT end
for name in pairs(TEXTS) do TYPES[name] = TYPE_STRING end

local v = ffi.new("tpcc_values")
local length = ffi.new("tpcc_lengths")

local function place_of(name)
   return ffi.cast("char *", v) + ffi.offsetof("tpcc_values", name)
end

local function place_of_length(name)
   local address = ffi.cast("char *", length) + ffi.offsetof("tpcc_lengths", name)
   return ffi.cast("unsigned long *", address)
end

-- The stock's text for each district.
local DIST_TEXT, DIST_LENGTH = {}, {}
for district = 1, DISTRICTS do
   DIST_TEXT[district] = place_of("s_dist_" .. district)
   DIST_LENGTH[district] = place_of_length("s_dist_" .. district)
end

-- ---------------------------------------------------------------------------------------------
-- The statements, with the values of their parameters and of their columns.
-- ---------------------------------------------------------------------------------------------

local STATEMENTS = {
   -- New-Order
   customer_tax = {
      "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse "
         .. "WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
      "w_id d_id c_id", "c_discount skip skip w_tax"
   },
   lock_district = {
      "SELECT d_next_o_id, d_tax FROM district WHERE d_id = ? AND d_w_id = ? FOR UPDATE",
      "d_id w_id", "o_id d_tax"
   },
   next_order = {
      "UPDATE district SET d_next_o_id = ? + 1 WHERE d_id = ? AND d_w_id = ?",
      "o_id d_id w_id"
   },
   insert_order = {
      "INSERT INTO orders "
         .. "(o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) "
         .. "VALUES (?, ?, ?, ?, ?, ?, ?)",
      "o_id d_id w_id c_id now o_ol_cnt o_all_local"
   },
   insert_new_order = {
      "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
      "o_id d_id w_id"
   },
   item = {
      "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
      "ol_i_id", "i_price skip skip"
   },
   lock_stock = {
      "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, "
         .. "s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock "
         .. "WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
      "ol_i_id ol_supply_w_id",
      "s_quantity skip s_dist_1 s_dist_2 s_dist_3 s_dist_4 s_dist_5 s_dist_6 s_dist_7 s_dist_8 "
         .. "s_dist_9 s_dist_10"
   },
   take_stock = {
      "UPDATE stock SET s_quantity = ? WHERE s_i_id = ? AND s_w_id = ?",
      "s_quantity ol_i_id ol_supply_w_id"
   },
   insert_line = {
      "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, "
         .. "ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      "o_id d_id w_id ol_number ol_i_id ol_supply_w_id ol_quantity ol_amount ol_dist_info"
   },
   -- Payment
   pay_warehouse = {
      "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
      "h_amount w_id"
   },
   warehouse = {
      "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse "
         .. "WHERE w_id = ?",
      "w_id", "skip skip skip skip skip w_name"
   },
   pay_district = {
      "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
      "h_amount w_id d_id"
   },
   district = {
      "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district "
         .. "WHERE d_w_id = ? AND d_id = ?",
      "w_id d_id", "skip skip skip skip skip d_name"
   },
   count_names = {
      "SELECT count(c_id) FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?",
      "c_w_id c_d_id c_last", "names"
   },
   ids_by_name = {
      "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? "
         .. "ORDER BY c_first",
      "c_w_id c_d_id c_last", "c_id"
   },
   lock_customer = {
      "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, "
         .. "c_phone, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer "
         .. "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
      "c_w_id c_d_id c_id",
      "skip skip skip skip skip skip skip skip skip c_credit skip c_discount c_balance skip"
   },
   customer_data = {
      "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
      "c_w_id c_d_id c_id", "c_data"
   },
   pay_bad_credit = {
      "UPDATE customer SET c_balance = ?, c_data = ? "
         .. "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
      "c_balance c_data c_w_id c_d_id c_id"
   },
   pay_good_credit = {
      "UPDATE customer SET c_balance = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
      "c_balance c_w_id c_d_id c_id"
   },
   insert_history = {
      "INSERT INTO history "
         .. "(h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) "
         .. "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      "c_d_id c_w_id c_id d_id w_id now h_amount h_data"
   },
   -- Order-Status
   customers_by_name = {
      "SELECT c_balance, c_first, c_middle, c_last FROM customer "
         .. "WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
      "c_w_id c_d_id c_last", "c_balance skip skip skip"
   },
   customer = {
      "SELECT c_balance, c_first, c_middle, c_last FROM customer "
         .. "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
      "c_w_id c_d_id c_id", "c_balance skip skip skip"
   },
   last_order = {
      "SELECT o_id, o_entry_d, COALESCE(o_carrier_id, 0) FROM orders "
         .. "WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? AND o_id = "
         .. "(SELECT MAX(o_id) FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?)",
      "c_w_id c_d_id c_id c_w_id c_d_id c_id", "o_id skip carrier_id"
   },
   order_lines = {
      "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "
         .. "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
      "c_w_id c_d_id o_id", "ol_i_id ol_supply_w_id ol_quantity ol_amount skip"
   },
   -- Delivery
   oldest_order = {
      "SELECT COALESCE(MIN(no_o_id), 0) FROM new_orders WHERE no_d_id = ? AND no_w_id = ?",
      "d_id w_id", "no_o_id"
   },
   delete_new_order = {
      "DELETE FROM new_orders WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?",
      "no_o_id d_id w_id"
   },
   order_customer = {
      "SELECT o_c_id FROM orders WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?",
      "no_o_id d_id w_id", "c_id"
   },
   set_carrier = {
      "UPDATE orders SET o_carrier_id = ? WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?",
      "carrier_id no_o_id d_id w_id"
   },
   deliver_lines = {
      "UPDATE order_line SET ol_delivery_d = ? "
         .. "WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?",
      "now no_o_id d_id w_id"
   },
   order_total = {
      "SELECT SUM(ol_amount) FROM order_line "
         .. "WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?",
      "no_o_id d_id w_id", "ol_total"
   },
   charge_customer = {
      "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 "
         .. "WHERE c_id = ? AND c_d_id = ? AND c_w_id = ?",
      "ol_total c_id d_id w_id"
   },
   -- Stock-Level
   district_orders = {
      "SELECT d_next_o_id FROM district WHERE d_id = ? AND d_w_id = ?",
      "d_id w_id", "o_id"
   },
   recent_items = {
      "SELECT DISTINCT ol_i_id FROM order_line "
         .. "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= (? - 20)",
      "w_id d_id o_id o_id", "ol_i_id"
   },
   count_low_stock = {
      "SELECT count(*) FROM stock WHERE s_w_id = ? AND s_i_id = ? AND s_quantity < ?",
      "w_id ol_i_id threshold", "low_stock"
   }
}

-- ---------------------------------------------------------------------------------------------
-- Connection and statements of this thread: sysbench gives each thread a Lua state of its own.
-- ---------------------------------------------------------------------------------------------

local connection
local s = {}     -- the prepared statements: name -> {handle, parameters, columns}
local warehouses

-- Ends the attempt; caught in `attempt`.
local function fail(number, message)
   error({number = number, message = ffi.string(message)}, 0)
end

local function fail_statement(statement)
   fail(C.mysql_stmt_errno(statement.handle), C.mysql_stmt_error(statement.handle))
end

local function fail_connection()
   fail(C.mysql_errno(connection), C.mysql_error(connection))
end

local function bindings(names)
   local list = {}
   for name in string.gmatch(names or "", "%S+") do table.insert(list, name) end
   local binds = ffi.new("MYSQL_BIND[?]", math.max(1, #list))
   for i, name in ipairs(list) do
      local bind = binds[i - 1]
      bind.buffer_type = TYPES[name]
      bind.buffer = place_of(name)
      if TEXTS[name] then
         bind.length = place_of_length(name)
         bind.buffer_length = TEXTS[name] + 1
      end
   end
   return binds
end

local function prepare(text, parameters, columns)
   local statement = {
      handle = C.mysql_stmt_init(connection),
      parameters = bindings(parameters),
      columns = bindings(columns)
   }
   if C.mysql_stmt_prepare(statement.handle, text, #text) ~= 0
      or C.mysql_stmt_bind_param(statement.handle, statement.parameters) ~= 0
      or (columns and C.mysql_stmt_bind_result(statement.handle, statement.columns) ~= 0) then
      fail_statement(statement)
   end
   return statement
end

-- Binding again is not needed, but as with tpcc-mysql it has the types of the parameters sent
-- each time: 570 bytes per New-Order that the server has to read.
local function execute(statement)
   if C.mysql_stmt_bind_param(statement.handle, statement.parameters) ~= 0
      or C.mysql_stmt_execute(statement.handle) ~= 0 then
      fail_statement(statement)
   end
end

-- Execute and bring all rows over, as tpcc-mysql does.
local function query(statement)
   execute(statement)
   if C.mysql_stmt_store_result(statement.handle) ~= 0 then fail_statement(statement) end
end

-- The next row into its values; false after the last one.
local function fetch(statement)
   local status = C.mysql_stmt_fetch(statement.handle)
   if status == FETCHED or status == TRUNCATED then return true end
   if status ~= NO_DATA then fail_statement(statement) end
   return false
end

local function finish(statement)
   C.mysql_stmt_free_result(statement.handle)
end

-- Execute a query of one row; false if it has none.
local function query_row(statement)
   query(statement)
   local found = fetch(statement)
   finish(statement)
   return found
end

-- The same where a missing row is an error that tpcc-mysql also tries again.
local function query_one(statement)
   if not query_row(statement) then fail(0, "a row is missing") end
end

local function commit()
   if C.mysql_commit(connection) ~= 0 then fail_connection() end
end

-- ---------------------------------------------------------------------------------------------
-- Random inputs
-- ---------------------------------------------------------------------------------------------

local random = math.random
local CARDS_IN_DECK = 0
for _, number in pairs(CARDS) do CARDS_IN_DECK = CARDS_IN_DECK + number end

local function shuffle(deck)
   local filled = 0
   for kind = NEW_ORDER, STOCK_LEVEL do
      for _ = 1, CARDS[kind] do
         deck[filled] = kind
         filled = filled + 1
      end
   end
   for last = CARDS_IN_DECK - 1, 1, -1 do
      local other = random(0, last)
      deck[last], deck[other] = deck[other], deck[last]
   end
end

local function draw_card()
   local control = recorder.lock()
   local place = control.dealt % CARDS_IN_DECK
   if place == 0 then shuffle(control.deck) end
   control.dealt = place + 1
   local card = control.deck[place]
   recorder.unlock()
   return card
end

local function nurand(a, c, low, high)
   return (bit.bor(random(0, a), random(low, high)) + c) % (high - low + 1) + low
end

local function other_warehouse(home)
   if warehouses == 1 then return home end
   local other = random(1, warehouses - 1)
   return other < home and other or other + 1
end

local function set_text(name, text)
   ffi.copy(v[name], text)
   length[name] = #text
end

local LAST_NAMES = {}
for number = 0, 999 do
   LAST_NAMES[number] = SYLLABLES[math.floor(number / 100)]
      .. SYLLABLES[math.floor(number / 10) % 10] .. SYLLABLES[number % 10]
end

local now_second = -1

local function set_now()
   local second = tonumber(C.time(nil))
   if second ~= now_second then
      now_second = second
      set_text("now", os.date("%Y-%m-%d %H:%M:%S", second))
   end
end

-- ---------------------------------------------------------------------------------------------
-- The five transactions: `draw` makes the inputs before the clock starts, `run` is one attempt.
-- ---------------------------------------------------------------------------------------------

local draw, run = {}, {}

-- The lines of an order, sorted by warehouse and item: tpcc-mysql's way to avoid deadlocks.
local line_item = ffi.new("int[15]")
local line_supply = ffi.new("int[15]")
local line_quantity = ffi.new("int[15]")

local function insert_sorted(filled, item, supply, quantity)
   local i = filled
   while i > 0 and (line_supply[i - 1] > supply
         or (line_supply[i - 1] == supply and line_item[i - 1] > item)) do
      line_item[i], line_supply[i] = line_item[i - 1], line_supply[i - 1]
      line_quantity[i] = line_quantity[i - 1]
      i = i - 1
   end
   line_item[i], line_supply[i], line_quantity[i] = item, supply, quantity
end

draw[NEW_ORDER] = function()
   v.w_id = random(1, warehouses)
   v.d_id = random(1, DISTRICTS)
   v.c_id = nurand(1023, C_CUSTOMER, 1, CUSTOMERS)
   v.o_ol_cnt = random(5, 15)
   v.o_all_local = 1
   local rolled_back = random(1, 100) == 1
   for i = 0, v.o_ol_cnt - 1 do
      local item = nurand(8191, C_ITEM, 1, ITEMS)
      if rolled_back and i == v.o_ol_cnt - 1 then item = ITEMS + 1 end
      local supply = v.w_id
      if random(1, 100) == 1 then
         supply = other_warehouse(v.w_id)
         v.o_all_local = 0
      end
      insert_sorted(i, item, supply, random(1, 10))
   end
end

run[NEW_ORDER] = function()
   set_now()
   query_one(s.customer_tax)
   query_one(s.lock_district)
   execute(s.next_order)
   execute(s.insert_order)
   execute(s.insert_new_order)
   local price_factor = (1 + v.w_tax + v.d_tax) * (1 - v.c_discount)
   for i = 0, v.o_ol_cnt - 1 do
      v.ol_number = i + 1
      v.ol_i_id, v.ol_supply_w_id = line_item[i], line_supply[i]
      v.ol_quantity = line_quantity[i]
      if not query_row(s.item) then
         C.mysql_rollback(connection) -- the item that does not exist: this is a success
         return
      end
      query_one(s.lock_stock)
      local left = v.s_quantity - v.ol_quantity
      v.s_quantity = left > 0 and left or left + 91
      execute(s.take_stock)
      v.ol_amount = v.ol_quantity * v.i_price * price_factor
      length.ol_dist_info = DIST_LENGTH[v.d_id][0]
      ffi.copy(v.ol_dist_info, DIST_TEXT[v.d_id], length.ol_dist_info)
      execute(s.insert_line)
   end
   commit()
end

local function draw_customer()
   v.c_id = nurand(1023, C_CUSTOMER, 1, CUSTOMERS)
   set_text("c_last", LAST_NAMES[nurand(255, C_LAST, 0, 999)])
   return random(1, 100) <= 60 -- by last name
end

-- Reads as far as the customer in the middle of those with one last name, ordered by first name.
local function fetch_middle(statement)
   query_one(s.count_names)
   query(statement)
   for _ = 1, math.floor((v.names + 1) / 2) do
      if not fetch(statement) then fail(0, "a customer is missing") end
   end
   finish(statement)
end

local by_name

draw[PAYMENT] = function()
   v.w_id = random(1, warehouses)
   v.d_id = random(1, DISTRICTS)
   by_name = draw_customer()
   v.h_amount = random(1, 5000)
   v.c_w_id, v.c_d_id = v.w_id, v.d_id
   if random(1, 100) > 85 then
      v.c_w_id = other_warehouse(v.w_id)
      v.c_d_id = random(1, DISTRICTS)
   end
end

run[PAYMENT] = function()
   set_now()
   execute(s.pay_warehouse)
   query_one(s.warehouse)
   execute(s.pay_district)
   query_one(s.district)
   if by_name then fetch_middle(s.ids_by_name) end
   query_one(s.lock_customer)
   v.c_balance = v.c_balance - v.h_amount
   if ffi.string(v.c_credit, 2) == "BC" then
      -- tpcc-mysql makes the new c_data but then writes the old one back; so do we.
      query_one(s.customer_data)
      execute(s.pay_bad_credit)
   else
      execute(s.pay_good_credit)
   end
   local w_length, d_length = tonumber(length.w_name), tonumber(length.d_name)
   ffi.copy(v.h_data, v.w_name, w_length)
   ffi.copy(v.h_data + w_length, v.d_name, d_length)
   length.h_data = w_length + d_length
   execute(s.insert_history)
   commit()
end

draw[ORDER_STATUS] = function()
   v.c_w_id = random(1, warehouses)
   v.c_d_id = random(1, DISTRICTS)
   by_name = draw_customer()
end

run[ORDER_STATUS] = function()
   -- By name, tpcc-mysql reads the customer but not the id: the order is that of the id drawn.
   if by_name then fetch_middle(s.customers_by_name) else query_one(s.customer) end
   query_one(s.last_order)
   query(s.order_lines)
   while fetch(s.order_lines) do end
   finish(s.order_lines)
   commit()
end

draw[DELIVERY] = function()
   v.w_id = random(1, warehouses)
   v.carrier_id = random(1, 10)
end

-- One database transaction for each district. After an error all districts are begun again, also
-- those that were committed: so does tpcc-mysql.
run[DELIVERY] = function()
   set_now()
   for district = 1, DISTRICTS do
      v.d_id = district
      query_one(s.oldest_order)
      if v.no_o_id ~= 0 then
         execute(s.delete_new_order)
         query_one(s.order_customer)
         execute(s.set_carrier)
         execute(s.deliver_lines)
         query_one(s.order_total)
         execute(s.charge_customer)
         commit()
      end
   end
end

draw[STOCK_LEVEL] = function()
   v.w_id = random(1, warehouses)
   v.d_id = random(1, DISTRICTS)
   v.threshold = random(10, 20)
end

run[STOCK_LEVEL] = function()
   query_one(s.district_orders)
   query(s.recent_items)
   while fetch(s.recent_items) do query_one(s.count_low_stock) end
   finish(s.recent_items)
   commit()
end

-- ---------------------------------------------------------------------------------------------
-- What sysbench calls
-- ---------------------------------------------------------------------------------------------

sysbench.cmdline.options = recorder.options({
   warehouses = {"Warehouses to use, from the first on", 1},
   workload_seed = {"Seed of the transactions' inputs", 1},
   certificate = {"File with the certificate of a server that is reached over TLS", ""}
})

-- Of how many failed attempts a thread tells.
local MOST_MESSAGES = 5

function init()
   C.mysql_server_init(0, nil, nil)
   recorder.init()
end

-- MySQL's library uses TLS by itself where the server has it, and has another number for what is
-- asked for here. The account cannot log in without TLS, whatever the library does.
local VERIFY_SERVER = 21

local function is_mariadbs()
   return (pcall(function() return C.mariadb_get_infov end))
end

local function encrypt(certificate)
   C.mysql_ssl_set(connection, nil, nil, certificate, nil, nil)
   if is_mariadbs() then
      C.mysql_options(connection, VERIFY_SERVER, ffi.new("char[1]", 1))
   end
end

local function connect()
   local opt = sysbench.opt
   local host = opt.mysql_host
   if type(host) == "table" then host = host[1] end
   local port = opt.mysql_port
   if type(port) == "table" then port = port[1] end
   connection = C.mysql_init(nil)
   if opt.certificate ~= "" then encrypt(opt.certificate) end
   if C.mysql_real_connect(connection, host, opt.mysql_user, opt.mysql_password,
                           opt.mysql_db, tonumber(port), nil, 0) == nil
      or C.mysql_autocommit(connection, 0) ~= 0 then
      fail_connection()
   end
   for name, statement in pairs(STATEMENTS) do s[name] = prepare(unpack(statement)) end
end

function thread_init(thread)
   warehouses = sysbench.opt.warehouses
   math.randomseed(sysbench.opt.workload_seed * 100003 + thread)
end

-- Errors of the client library itself: the connection is gone, or was never of any use.
local function connection_lost(problem)
   return problem.number >= 2000 and problem.number < 3000
end

local messages = 0

local function tell(thread, problem)
   messages = messages + 1
   if messages <= MOST_MESSAGES then
      io.stderr:write(string.format("thread %d: %d, %s\n", thread, problem.number,
                                    problem.message))
   end
end

-- Run a transaction until it succeeds, tpcc-mysql's 2,000 times at most. Returns the attempts
-- that failed, and whether the last one did.
local function attempt(thread, transaction)
   for failures = 0, MAX_ATTEMPTS - 1 do
      local succeeded, problem = pcall(transaction)
      if succeeded then return failures, false end
      if type(problem) ~= "table" then error(problem, 0) end -- a mistake in this script
      if connection_lost(problem) then error(problem, 0) end
      tell(thread, problem)
      C.mysql_rollback(connection)
      if not recorder.goes_on() then return failures, true end
   end
   return MAX_ATTEMPTS - 1, true
end

local function describe(problem)
   if type(problem) ~= "table" then return tostring(problem) end
   return problem.number .. ", " .. problem.message
end

local function transact(thread)
   local kind = draw_card()
   draw[kind]()
   local began = recorder.seconds()
   return kind, began, attempt(thread, run[kind])
end

function thread_run(thread)
   recorder.run(thread, connect, transact, describe)
end

function thread_done()
   for _, statement in pairs(s) do C.mysql_stmt_close(statement.handle) end
   C.mysql_close(connection)
   C.mysql_thread_end()
end

-- sysbench wants to see it; `thread_run` is called instead.
function event()
end
