-- The table that takes longest comes first: it is built beside the others.
ALTER TABLE order_line
    ADD INDEX fkey_order_line_2 (ol_supply_w_id, ol_i_id);

ALTER TABLE customer
    ADD INDEX idx_customer (c_w_id, c_d_id, c_last, c_first);

ALTER TABLE history
    -- tpcc-mysql leaves both to the server, which then names them after the foreign keys.
    ADD INDEX fkey_history_1 (h_c_w_id, h_c_d_id, h_c_id),
    ADD INDEX fkey_history_2 (h_w_id, h_d_id);

ALTER TABLE orders
    ADD INDEX idx_orders (o_w_id, o_d_id, o_c_id, o_id);

ALTER TABLE stock
    ADD INDEX fkey_stock_2 (s_i_id);
