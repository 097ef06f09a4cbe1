/* A part of gcc.cc: the tests that take the place of calls. */

/* Where a function outside of its loops, or a loop, has more tests than that, the code itself
 * asks only for the page of an access: compilation would take several times as long, and what
 * does so much in one pass spends its time elsewhere. (clang inlines calls that a function makes
 * of itself, and has more room: clang_groups.h.) */
const unsigned most_whole = 12, most_whole_in_loop = 24;

auto_vec<unsigned> tests_in; /* each loop, by its number; those in inner ones too */

void count_tests(function *f, const auto_vec<access> &accesses)
{
	tests_in.truncate(0);
	tests_in.safe_grow_cleared(number_of_loops(f));
	for (const access &a : accesses)
		for (class loop *loop = gimple_bb(a.call)->loop_father; loop; loop = loop_outer(loop))
			tests_in[loop->num]++;
}

/* Whether the code itself asks only for the page of the access. */
bool is_short(const access &a)
{
	class loop *loop = gimple_bb(a.call)->loop_father;
	return loop && is_element(a) && tests_in[loop->num] > (loop_outer(loop) ? most_whole_in_loop : most_whole);
}

/* ---- single accesses ---- */

tree shift_right(gimple_seq *seq, tree a, int bits)
{
	return compute(seq, RSHIFT_EXPR, a, build_int_cst(integer_type_node, bits));
}

/* The byte at a distance from an address that is known. */
tree byte_at(gimple_seq *seq, unsigned long long base, tree distance)
{
	tree number = compute(seq, PLUS_EXPR, distance, ::number(base));
	tree type = build_pointer_type(unsigned_char_type_node);
	tree pointer = assign(seq, type, NOP_EXPR, number);
	return assign(seq, unsigned_char_type_node, MEM_REF, build2(MEM_REF, unsigned_char_type_node, pointer, build_zero_cst(type)));
}

/* The byte of the shadow for the page of an address. */
tree shadow_byte(gimple_seq *seq, tree address) { return byte_at(seq, shadow, shift_right(seq, address, page_shift)); }

/* Whether an access matters on whose page parts do: MCCHK_PART. */
tree part_matters(gimple_seq *seq, tree address, unsigned size)
{
	tree bits = assign(seq, pointer_sized_int_node, NOP_EXPR, byte_at(seq, parts, shift_right(seq, address, 6)));
	tree granule = compute(seq, BIT_AND_EXPR, shift_right(seq, address, 3), number(7));
	bits = compute(seq, RSHIFT_EXPR, bits, granule);
	bits = compute(seq, BIT_AND_EXPR, bits, number(size > 8 ? 3 : 1));
	return size == 1 ? bits : compute(seq, BIT_IOR_EXPR, bits, compute(seq, BIT_AND_EXPR, address, number(size - 1)));
}

/* Before a statement: not 0 if the access matters whose page has that byte of the shadow,
 * not 0. Where all of the page matters, its parts are not looked at. */
tree matters_before(gimple *before, tree address, tree page, unsigned size)
{
	gimple_seq whole = NULL, part = NULL;
	basic_block then, after;
	location_t line = line_of(before);
	tree bit = assign(&whole, unsigned_char_type_node, BIT_AND_EXPR, page, build_one_cst(unsigned_char_type_node));
	annotate_all_with_location(whole, line);
	gimple_stmt_iterator at = gsi_for_stmt(before);
	gsi_insert_seq_before(&at, whole, GSI_SAME_STMT);
	at = gsi_for_stmt(before);
	gimple_stmt_iterator condition = create_cond_insert_point(&at, true, false, true, &then, &after);
	gimple *test = gimple_build_cond(EQ_EXPR, bit, build_zero_cst(unsigned_char_type_node), NULL_TREE, NULL_TREE);
	gimple_set_location(test, line);
	gsi_insert_after(&condition, test, GSI_NEW_STMT);
	tree matters = part_matters(&part, address, size);
	annotate_all_with_location(part, line);
	at = gsi_start_bb(then);
	gsi_insert_seq_after(&at, part, GSI_NEW_STMT);
	gphi *both = create_phi_node(make_ssa_name(pointer_sized_int_node), after);
	edge e;
	edge_iterator edges;
	FOR_EACH_EDGE(e, edges, after->preds)
		add_phi_arg(both, e->src == then ? matters : number(1), e, UNKNOWN_LOCATION);
	return gimple_phi_result(both);
}

/* Splits the block before a statement: the call is made there if a comparison holds,
 * which it hardly ever does. What computes the operands of the comparison is put in
 * front. */
basic_block call_if(gimple *before, gimple_seq operands, tree_code code, tree a, tree b, gimple *call, bool seldom = true)
{
	gimple_stmt_iterator at = gsi_for_stmt(before);
	location_t line = line_of(before);
	basic_block then, after;
	annotate_all_with_location(operands, line);
	gsi_insert_seq_before(&at, operands, GSI_SAME_STMT);
	at = gsi_for_stmt(before);
	gimple_stmt_iterator condition = create_cond_insert_point(&at, true, !seldom, true, &then, &after);
	gimple *test = gimple_build_cond(code, a, b, NULL_TREE, NULL_TREE);
	gimple_set_location(test, line);
	gsi_insert_after(&condition, test, GSI_NEW_STMT);
	gimple_set_location(call, line);
	at = gsi_start_bb(then);
	gsi_insert_after(&at, call, GSI_NEW_STMT);
	return then;
}

/* The type of what is set: of its own, so that setting it says nothing of the program's
 * memory. */
tree set_type()
{
	tree id = get_identifier("mcchk set byte");
	if (tree type = known(id))
		return type;
	tree type = make_unsigned_type(CHAR_BIT);
	TYPE_ALIAS_SET(type) = new_alias_set();
	return remember(id, type);
}

/* The block of the other outcome of the test that a block depends on. */
basic_block other_than(basic_block then)
{
	edge e, other = NULL;
	edge_iterator edges;
	FOR_EACH_EDGE(e, edges, single_pred(then)->succs)
		if (e->dest != then)
			other = e;
	return split_edge(other);
}

/* Sets an element in a map where the block `then` is not gone through. `seq` computes the
 * map. */
void set_past(basic_block then, tree map, tree element, gimple_seq seq, location_t line)
{
	basic_block setting = other_than(then);
	tree type = build_pointer_type(set_type());
	tree at = assign(&seq, type, NOP_EXPR, compute(&seq, PLUS_EXPR, map, element));
	tree byte = build2(MEM_REF, set_type(), at, build_zero_cst(type));
	gimple_seq_add_stmt(&seq, gimple_build_assign(byte, build_one_cst(set_type())));
	annotate_all_with_location(seq, line);
	gimple_stmt_iterator where = gsi_after_labels(setting);
	gsi_insert_seq_before(&where, seq, GSI_SAME_STMT);
}

/* The index of an element of a map that begins at `lo`: one that is not aligned is beyond
 * all. */
tree element_of(gimple_seq *seq, tree address, tree lo, unsigned size)
{
	tree element = compute(seq, MINUS_EXPR, address, lo);
	return size == 1 ? element : compute(seq, RROTATE_EXPR, element, build_int_cst(pointer_sized_int_node, exact_log2(size)));
}

/* Has a call that tells of an access made only where the place has no map for it, and the
 * map set otherwise: struct mcchk_touch. Returns the call. */
gimple *test_touch(gimple *stmt, const access &a, tree address, tree touch)
{
	gimple_seq seq = NULL, more = NULL;
	tree own = is_own(&seq, touch);
	tree element = element_of(&seq, address, touch_word(&seq, touch, touch_lo), a.size);
	tree within = assign(&seq, boolean_type_node, LT_EXPR, element, touch_word(&seq, touch, touch_count));
	tree both = assign(&seq, boolean_type_node, BIT_AND_EXPR, own, within);
	gcall *call = miss_call(a, address, touch);
	basic_block then = call_if(stmt, seq, EQ_EXPR, both, boolean_false_node, call);
	remove(stmt);
	tree map = touch_word(&more, touch, touch_map);
	set_past(then, map, element, more, line_of(call));
	return call;
}

/* Reads the map again behind a call that may have changed it. */
void read_map_behind(gimple *call, const mapped &m)
{
	gimple_seq seq = read_map(m);
	annotate_all_with_location(seq, line_of(call));
	gimple_stmt_iterator at = gsi_for_stmt(call);
	gsi_insert_seq_after(&at, seq, GSI_SAME_STMT);
}

/* The bytes of the shadow for the pages of a group. */
tree shadow_of(gimple_seq *seq, const group &g, tree first)
{
	auto byte = [&](HOST_WIDE_INT offset) { return shadow_byte(seq, offset ? compute(seq, PLUS_EXPR, first, number(offset)) : first); };
	tree value = byte(g.lowest());
	if (g.lowest() != g.highest())
		value = assign(seq, unsigned_char_type_node, BIT_IOR_EXPR, value, byte(g.highest()));
	return value;
}

/* The index of an element in the map that begins there: one that is not aligned is beyond
 * all. */
tree index_of(gimple_seq *seq, const mapped &m, tree element, tree from)
{
	return m.base ? compute(seq, MINUS_EXPR, element, from) : element_of(seq, element, from, m.g->first().size);
}

/* The calls that tell of the members of a group, from the first of them on, which is there. */
void call_members(gcall *call, const mapped &m, tree first)
{
	for (unsigned i = 0; i < m.g->members.length(); i++) {
		const access &a = m.g->members[i];
		gimple_seq seq = NULL;
		char name[48];
		snprintf(name, sizeof name, "mcchk_miss_member_%s%u", a.store ? "write" : "read", a.size);
		tree address = m.g->offsets[i] ? compute(&seq, PLUS_EXPR, first, number(m.g->offsets[i])) : first;
		tree type = TREE_TYPE(TREE_TYPE(m.members));
		tree member = build4(ARRAY_REF, type, m.members, size_int(member_words * i), NULL_TREE, NULL_TREE);
		gimple_seq_add_stmt(&seq, gimple_build_call(runtime_function(name, 2), 2, address, build_fold_addr_expr(member)));
		annotate_all_with_location(seq, line_of(a.call));
		gimple_stmt_iterator at = gsi_for_stmt(call);
		gsi_insert_seq_before(&at, seq, GSI_SAME_STMT);
	}
}

/* Where neither the map of a place nor what does not matter has an element, each access is
 * looked at if the pages matter; and where they do not, the run-time may say how far that
 * goes. */
void test_slow(gimple *slow, const mapped &m, tree first)
{
	gimple_seq seq = NULL;
	gcall *members = gimple_build_call(runtime_function("mcchk_maps_end", 0), 0); /* stands for them */
	tree value = shadow_of(&seq, *m.g, first), settled = touch_word(&seq, m.touch, touch_settled);
	tree some = assign(&seq, boolean_type_node, NE_EXPR, value, build_zero_cst(unsigned_char_type_node));
	tree ask = assign(&seq, boolean_type_node, EQ_EXPR, settled, number(0));
	ask = assign(&seq, boolean_type_node, BIT_IOR_EXPR, ask, some);
	gcall *call = gimple_build_call(runtime_function("mcchk_miss_group", 4), 4, first, build_fold_addr_expr(m.touch),
					build_fold_addr_expr(m.members), number(m.g->members.length() | m.shift() << 16));
	call_if(slow, seq, NE_EXPR, ask, boolean_false_node, call, false);
	call_if(call, NULL, NE_EXPR, some, boolean_false_node, members, false);
	call_members(members, m, first);
	remove(members);
	read_map_behind(call, m);
}

/* The same as test_access for accesses of a loop in front of which their map was read: that
 * is asked first, and then what does not matter. */
void test_mapped(const mapped &m)
{
	gimple_seq seq = NULL, more = NULL;
	gimple *call = m.g->first().call;
	location_t line = line_of(call);
	gcall *other = gimple_build_call(runtime_function("mcchk_maps_end", 0), 0); /* stand for calls */
	gimple *slow = gimple_copy(other), *tested = gimple_copy(other);
	if (m.plain) {
		call_if(call, NULL, EQ_EXPR, m.plain, number(0), tested, false);
		call = tested;
	}
	tree first = as_number(&seq, m.g->first().address), element = m.base ? as_number(&seq, m.index) : first;
	tree index = index_of(&seq, m, element, m.from);
	basic_block then = call_if(call, seq, GE_EXPR, index, m.count, other, false);
	set_past(then, m.map, m.base ? element : index, more, line);
	seq = NULL;
	index = index_of(&seq, m, element, m.cold_from);
	call_if(other, seq, GE_EXPR, index, m.cold_count, slow);
	test_slow(slow, m, first);
	remove(slow);
	remove(other);
	if (m.plain)
		remove(tested);
	for (const access &a : m.g->members)
		remove(a.call);
}

/* In front of it: whether a place has the map of another context, and others. */
void test_turn(gimple *turn)
{
	gimple_seq seq = NULL;
	tree touch = TREE_OPERAND(gimple_call_arg(turn, 0), 0), own = is_own(&seq, touch);
	tree others = assign(&seq, boolean_type_node, NE_EXPR, touch_word(&seq, touch, touch_others), number(0));
	tree asks = assign(&seq, boolean_type_node, GT_EXPR, others, own);
	call_if(turn, seq, NE_EXPR, asks, boolean_false_node, gimple_copy(turn));
	remove(turn);
}

/* Behind a loop in front of which maps were read: whether other threads made calls
 * meanwhile. */
void test_end(const mapped_end &end)
{
	gimple_seq seq = NULL;
	tree type = build_qualified_type(pointer_sized_int_node, TYPE_QUAL_VOLATILE), now = make_ssa_name(pointer_sized_int_node);
	tree moment = gimple_call_arg(end.call, 0);
	gcall *ends = gimple_build_call(runtime_function("mcchk_maps_end", 0), 0);
	gimple_seq_add_stmt(&seq, gimple_build_assign(now, runtime_variable("mcchk_moment", type, false)));
	call_if(end.call, seq, NE_EXPR, now, moment, ends);
	if (end.plain) {
		gcall *plain = gimple_build_call(runtime_function("mcchk_plain_loop_ends", 1), 1, end.plain);
		gimple_set_location(plain, gimple_location(ends));
		gimple_stmt_iterator at = gsi_for_stmt(ends);
		gsi_insert_after(&at, plain, GSI_SAME_STMT);
	}
	remove(end.call);
}

/* Puts the test in place of the call. An access of more than 16 bytes may begin on a page
 * that does not matter and end on one that does. */
void test_access(const access &a)
{
	gimple_seq seq = NULL;
	tree address = as_number(&seq, a.address);
	tree value = shadow_byte(&seq, address);
	if (a.size > 16) {
		tree last = assign(&seq, pointer_sized_int_node, PLUS_EXPR, address,
				   build_int_cst(pointer_sized_int_node, a.size - 1));
		value = assign(&seq, unsigned_char_type_node, BIT_IOR_EXPR, value, shadow_byte(&seq, last));
	}
	bool whole = !is_short(a);
	gimple *call = whole ? miss_call(a, address) : page_call(a, address);
	call_if(a.call, seq, NE_EXPR, value, build_zero_cst(unsigned_char_type_node), call);
	if (whole && is_element(a)) {
		tree touch = may_touch(a) ? touch_variable() : NULL_TREE;
		tree matters = matters_before(call, address, value, a.size);
		gcall *last = miss_call(a, address, touch);
		call_if(call, NULL, NE_EXPR, matters, number(0), last);
		remove(call);
		if (touch)
			test_touch(last, a, address, touch);
	}
	remove(a.call);
}

/* What is left of accesses to one object has one test, behind which each has its own, or is
 * told to the run-time. */
void test_group(const group &g)
{
	gimple_seq seq = NULL;
	tree first = as_number(&seq, g.first().address), value = shadow_of(&seq, g, first);
	gimple *call = g.first().call;
	gcall *behind = gimple_build_call(runtime_function("mcchk_maps_end", 0), 0); /* stands for all of them */
	call_if(call, seq, NE_EXPR, value, build_zero_cst(unsigned_char_type_node), behind);
	for (unsigned i = 0; i < g.members.length(); i++) {
		access a = g.members[i];
		bool whole = !is_short(a);
		gimple_seq at_member = NULL;
		tree address = g.offsets[i] ? compute(&at_member, PLUS_EXPR, first, number(g.offsets[i])) : first;
		gimple *told = whole ? gimple_copy(behind) : page_call(a, address); /* stands for its test */
		location_t line = line_of(a.call);
		annotate_all_with_location(at_member, line);
		gimple_set_location(told, line);
		gimple_seq_add_stmt(&at_member, told);
		gimple_stmt_iterator at = gsi_for_stmt(behind);
		gsi_insert_seq_before(&at, at_member, GSI_SAME_STMT);
		a.call = told;
		a.address = address;
		if (whole)
			test_access(a);
	}
	for (const access &a : g.members)
		remove(a.call);
	remove(behind);
}

/* A function returns: whether a pending buffer may lie in its frame. */
void test_exit(gimple *stmt)
{
	gimple_seq seq = NULL;
	tree low = make_ssa_name(pointer_sized_int_node), number = frame_address(&seq);
	gimple_seq_add_stmt(&seq, gimple_build_assign(low, runtime_variable("mcchk_stack_low", pointer_sized_int_node, true)));
	call_if(stmt, seq, LT_EXPR, low, number, gimple_build_call(runtime_function("mcchk_miss_exit", 1), 1, number));
	remove(stmt);
}

/* A function that may have maps or sets begins: whether another call that has some may be taken for
 * this one (MCCHK_HAS_FRAME of ../runtime/mcchk.h). */
void test_entry(gimple *stmt)
{
	gimple_seq seq = NULL;
	tree other = compute(&seq, BIT_XOR_EXPR, entry_word(&seq), frame_address(&seq));
	other = compute(&seq, LSHIFT_EXPR, other, build_int_cst(integer_type_node, 64 - address_bits));
	gimple *call = gimple_build_call(runtime_function("mcchk_miss_entry", 0), 0);
	call_if(stmt, seq, EQ_EXPR, other, number(0), call);
	remove(stmt);
}

/* Whether a buffer may lie in the frame of the function: others know the address of
 * something in it. */
bool may_hold_buffer(function *f)
{
	unsigned i;
	tree variable;
	if (f->calls_alloca || f->calls_setjmp || f->has_nonlocal_label)
		return true;
	FOR_EACH_LOCAL_DECL(f, i, variable)
		if (VAR_P(variable) && !TREE_STATIC(variable) && !DECL_EXTERNAL(variable) && TREE_ADDRESSABLE(variable))
			return true;
	for (tree argument = DECL_ARGUMENTS(f->decl); argument; argument = DECL_CHAIN(argument))
		if (TREE_ADDRESSABLE(argument))
			return true;
	return false;
}

/* Whether the statement announces the end of the function. The sanitizer calls it with an
 * argument that it does not have. */
bool is_func_exit(gimple *stmt)
{
	tree callee = is_gimple_call(stmt) ? gimple_call_fndecl(stmt) : NULL_TREE;
	return callee && fndecl_built_in_p(callee, BUILT_IN_TSAN_FUNC_EXIT);
}

/* Replaces what the pass of the sanitizer has left in the function, some loops of which may
 * have been announced. */
void take_single(function *f, bool announced)
{
	auto_delete_vec<group> groups;
	auto_vec<access> accesses;
	auto_vec<gimple *> begins, exits, units;
	basic_block block;
	expansions *known = NULL;
	bool touches = announced || !mapped_places.is_empty();
	for (const mapped &m : mapped_places) {
		test_mapped(m);
		places_tested += m.g->members.length();
	}
	FOR_EACH_BB_FN(block, f)
		for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
			gimple *stmt = gsi_stmt(at);
			access a;
			if (announces(stmt, a)) {
				accesses.safe_push(a);
				touches |= may_touch(a);
			} else if (gimple_call_builtin_p(stmt, BUILT_IN_TSAN_FUNC_ENTRY))
				begins.safe_push(stmt);
			else if (is_func_exit(stmt))
				exits.safe_push(stmt);
			else if (gimple_call_builtin_p(stmt, BUILT_IN_TSAN_INIT))
				units.safe_push(stmt);
		}
	for (const mapped_end &end : mapped_ends)
		test_end(end);
	for (gimple *turn : mapped_turns)
		test_turn(turn);
	forget_maps();
	places_tested += accesses.length();
	count_tests(f, accesses);
	FOR_EACH_BB_FN(block, f)
		find_groups(block, &known, false, groups);
	free_affine_expand_cache(&known);
	for (const group *g : groups)
		if (g->members.length() > 1)
			test_group(*g);
		else
			test_access(g->first());
	for (gimple *stmt : begins)
		if (touches)
			test_entry(stmt);
		else
			remove(stmt);
	bool tested = may_hold_buffer(f);
	for (gimple *stmt : exits) {
		if (!optimize && !single_pred_p(gimple_bb(stmt))) /* of several, it would be the first in the source */
			gimple_set_location(stmt, f->function_end_locus);
		if (tested)
			test_exit(stmt);
		else
			remove(stmt);
	}
	for (gimple *stmt : units)
		gimple_call_set_fndecl(stmt, runtime_function("mcchk_inlined_unit", 0));
}
