/* What gcc.cc, of which this is a part, knows of accesses and of the run-time. */

/* What ../runtime/mcchk.h calls MCCHK_SHADOW, MCCHK_PARTS and MCCHK_PAGE_SHIFT, MCCHK_STORE and
 * MCCHK_ADDRESS_BITS. */
const unsigned long long shadow = 0x100000000000ull;
const unsigned long long parts = 0x120000000000ull;
const int page_shift = 12;
const unsigned page = 1u << page_shift;
const unsigned store_flag = 1;
const int address_bits = 47;
const unsigned entries = 4096; /* MCCHK_ENTRIES */
const unsigned touch_words = 11; /* of struct mcchk_touch */
const unsigned bundle_words = 6, bundled_words = 3; /* of struct mcchk_bundle, and for each access */
const unsigned most_bundled = 32; /* words of an announcement: MCCHK_BUNDLE_WORDS */
enum { touch_context, touch_lo, touch_count, touch_map, touch_settled = 7, touch_cold_lo, touch_cold_count, touch_others }; /* which of them */
const unsigned member_words = 2; /* of struct mcchk_member */

/* Loops that have more ways out, or accesses for all of them, keep their tests: code
 * would grow by a call for each. */
const unsigned most_exits = 8;
const unsigned most_calls = 64;

/* Loops that are known to go round less often keep them too: the tests cost less. */
const unsigned least_passes = 8;

/* A call of the sanitizer that announces an access. */
struct access {
	gimple *call;
	tree address;
	unsigned size;
	bool store;
};

/* The size of an access that is announced by one of the functions with a fixed size,
 * 0 for others. */
unsigned fixed_size(built_in_function code, bool &store)
{
	struct entry {
		built_in_function code;
		unsigned size;
		bool store;
	};
	static const entry known[] = {
		{BUILT_IN_TSAN_READ1, 1, false}, {BUILT_IN_TSAN_READ2, 2, false}, {BUILT_IN_TSAN_READ4, 4, false},
		{BUILT_IN_TSAN_READ8, 8, false}, {BUILT_IN_TSAN_READ16, 16, false},
		{BUILT_IN_TSAN_WRITE1, 1, true}, {BUILT_IN_TSAN_WRITE2, 2, true}, {BUILT_IN_TSAN_WRITE4, 4, true},
		{BUILT_IN_TSAN_WRITE8, 8, true}, {BUILT_IN_TSAN_WRITE16, 16, true},
		{BUILT_IN_TSAN_VPTR_UPDATE, 8, true},
	};
	for (const entry &e : known)
		if (e.code == code) {
			store = e.store;
			return e.size;
		}
	return 0;
}

/* Whether the statement announces an access of known size, and which. (Sizes of ranges are of another type
 * than the builtin declares, so that gimple_call_builtin_p does not take it for one.) */
bool announces(gimple *stmt, access &a)
{
	tree callee = is_gimple_call(stmt) ? gimple_call_fndecl(stmt) : NULL_TREE;
	if (!callee || !fndecl_built_in_p(callee, BUILT_IN_NORMAL))
		return false;
	built_in_function code = DECL_FUNCTION_CODE(callee);
	a.call = stmt;
	a.size = fixed_size(code, a.store);
	if (a.size == 0) {
		if (code != BUILT_IN_TSAN_READ_RANGE && code != BUILT_IN_TSAN_WRITE_RANGE)
			return false;
		tree size = gimple_call_arg(stmt, 1);
		if (!tree_fits_uhwi_p(size) || tree_to_uhwi(size) == 0 || tree_to_uhwi(size) > page)
			return false;
		a.size = tree_to_uhwi(size);
		a.store = code == BUILT_IN_TSAN_WRITE_RANGE;
	}
	a.address = gimple_call_arg(stmt, 0);
	return true;
}

/* ---- what calls the run-time ---- */

/* The functions and variables of the run-time that have been declared, by name. */
tree declared;

tree known(tree name)
{
	tree entry = purpose_member(name, declared);
	return entry ? TREE_VALUE(entry) : NULL_TREE;
}

tree remember(tree name, tree decl)
{
	declared = tree_cons(name, decl, declared);
	return decl;
}

/* A function of the run-time, of numbers. It touches no memory of the program, of which
 * "fn spec" tells the optimizer. */
tree runtime_function(const char *name, unsigned arguments, tree result = void_type_node)
{
	tree id = get_identifier(name);
	if (tree decl = known(id))
		return decl;
	tree types = void_list_node;
	char spec[] = ".c. . . . . . . . ";
	gcc_assert(2 + 2 * arguments < sizeof spec);
	spec[2 + 2 * arguments] = 0;
	for (unsigned i = 0; i < arguments; i++)
		types = tree_cons(NULL_TREE, pointer_sized_int_node, types);
	tree attribute = build_tree_list(get_identifier("fn spec"),
					 build_tree_list(NULL_TREE, build_string(strlen(spec) + 1, spec)));
	tree type = build_type_attribute_variant(build_function_type(result, types), attribute);
	tree decl = build_fn_decl(name, type);
	TREE_NOTHROW(decl) = 1;
	DECL_ATTRIBUTES(decl) = tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(decl));
	return remember(id, decl);
}

/* The same of any number of numbers. */
tree function_of_any(const char *name, tree result)
{
	tree id = get_identifier(name);
	if (tree decl = known(id))
		return decl;
	tree attribute = build_tree_list(get_identifier("fn spec"), build_tree_list(NULL_TREE, build_string(3, ".c")));
	tree decl = build_fn_decl(name, build_type_attribute_variant(build_varargs_function_type_list(result, NULL_TREE), attribute));
	TREE_NOTHROW(decl) = 1;
	DECL_ATTRIBUTES(decl) = tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(decl));
	return remember(id, decl);
}

/* A built-in function that says something of the frame, which not all languages have. */
tree of_frame(built_in_function code, const char *name)
{
	if (tree decl = builtin_decl_explicit(code))
		return decl;
	tree type = build_function_type_list(ptr_type_node, unsigned_type_node, NULL_TREE);
	tree decl = build_fn_decl(name, type);
	set_decl_built_in_function(decl, BUILT_IN_NORMAL, code);
	TREE_NOTHROW(decl) = 1;
	set_builtin_decl(code, decl, false);
	return decl;
}

/* A variable of the run-time. */
tree runtime_variable(const char *name, tree type, bool of_thread)
{
	tree id = get_identifier(name);
	if (tree decl = known(id))
		return decl;
	tree decl = build_decl(UNKNOWN_LOCATION, VAR_DECL, id, type);
	TREE_PUBLIC(decl) = 1;
	DECL_EXTERNAL(decl) = 1;
	DECL_ARTIFICIAL(decl) = 1;
	TREE_USED(decl) = 1;
	if (of_thread)
		set_decl_tls_model(decl, TLS_MODEL_INITIAL_EXEC);
	return remember(id, decl);
}

/* A variable of the place's own: the words are read by the code and written by the run-time. */
tree place_variable(const char *name, unsigned words, tree value)
{
	tree word = build_qualified_type(pointer_sized_int_node, TYPE_QUAL_VOLATILE);
	tree type = build_array_type_nelts(word, words);
	tree decl = build_decl(UNKNOWN_LOCATION, VAR_DECL, create_tmp_var_name(name), type);
	TREE_STATIC(decl) = 1;
	TREE_USED(decl) = 1;
	TREE_ADDRESSABLE(decl) = 1;
	TREE_THIS_VOLATILE(decl) = 1;
	DECL_ARTIFICIAL(decl) = 1;
	DECL_IGNORED_P(decl) = 1;
	DECL_INITIAL(decl) = value;
	varpool_node::finalize_decl(decl);
	return decl;
}

/* A struct mcchk_touch. */
tree touch_variable(const char *name = "mcchk_touch") { return place_variable(name, touch_words, NULL_TREE); }

/* Whether it is of a size that elements have. */
bool is_element(const access &a) { return a.size <= 16 && pow2p_hwi(a.size); }

/* Whether the place may get a map. */
bool may_touch(const access &a) { return is_element(a); }

/* The call that tells of an access of a page that matters. */
gcall *miss_call(const access &a, tree address, tree touch = NULL_TREE)
{
	char name[48];
	if (touch) {
		snprintf(name, sizeof name, "mcchk_miss_touch_%s%u", a.store ? "write" : "read", a.size);
		return gimple_build_call(runtime_function(name, 2), 2, address, build_fold_addr_expr(touch));
	}
	if (is_element(a)) {
		snprintf(name, sizeof name, "mcchk_miss_%s%u", a.store ? "write" : "read", a.size);
		return gimple_build_call(runtime_function(name, 1), 1, address);
	}
	snprintf(name, sizeof name, "mcchk_miss_%s_range", a.store ? "write" : "read");
	return gimple_build_call(runtime_function(name, 2), 2, address, build_int_cst(pointer_sized_int_node, a.size));
}

/* The call that tells of one of which only the page was looked at. */
gcall *page_call(const access &a, tree address)
{
	char name[48];
	snprintf(name, sizeof name, "mcchk_miss_page_%s%u", a.store ? "write" : "read", a.size);
	return gimple_build_call(runtime_function(name, 1), 1, address);
}

/* The value of an expression as an integer of the pointer's size. */
tree as_number(gimple_seq *seq, tree expression)
{
	gimple_seq more = NULL;
	tree value = force_gimple_operand(fold_convert(pointer_sized_int_node, unshare_expr(expression)), &more, true, NULL_TREE);
	gimple_seq_add_seq(seq, more);
	return value;
}

tree assign(gimple_seq *seq, tree type, tree_code code, tree a, tree b = NULL_TREE)
{
	tree name = make_ssa_name(type);
	gimple_seq_add_stmt(seq, b ? gimple_build_assign(name, code, a, b) : gimple_build_assign(name, code, a));
	return name;
}

tree number(unsigned long long value) { return build_int_cst(pointer_sized_int_node, value); }

tree compute(gimple_seq *seq, tree_code code, tree a, tree b) { return assign(seq, pointer_sized_int_node, code, a, b); }

tree call_of_frame(gimple_seq *seq, built_in_function code, const char *name)
{
	tree pointer = make_ssa_name(ptr_type_node);
	gcall *call = gimple_build_call(of_frame(code, name), 1, integer_zero_node);
	gimple_call_set_lhs(call, pointer);
	gimple_seq_add_stmt(seq, call);
	return assign(seq, pointer_sized_int_node, NOP_EXPR, pointer);
}

/* The function's frame pointer, and where it returns to. */
tree frame_address(gimple_seq *seq) { return call_of_frame(seq, BUILT_IN_FRAME_ADDRESS, "__builtin_frame_address"); }
tree return_address(gimple_seq *seq) { return call_of_frame(seq, BUILT_IN_RETURN_ADDRESS, "__builtin_return_address"); }

/* One of the words of a place's variable. */
tree touch_word(gimple_seq *seq, tree touch, int i)
{
	tree word = build4(ARRAY_REF, TREE_TYPE(TREE_TYPE(touch)), touch, build_int_cst(integer_type_node, i), NULL_TREE, NULL_TREE);
	tree name = make_ssa_name(pointer_sized_int_node);
	gimple_seq_add_stmt(seq, gimple_build_assign(name, word));
	return name;
}

basic_block first_block; /* of the function, which nothing goes back to */
tree entry_address;      /* computed there; NULL_TREE: not yet */

void begin_function(function *f)
{
	first_block = single_succ(ENTRY_BLOCK_PTR_FOR_FN(f));
	if (!single_pred_p(first_block))
		first_block = split_edge(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(f)));
	entry_address = NULL_TREE;
}

/* Computes where the word for this call of the function is: MCCHK_ENTRY of
 * ../runtime/mcchk.h. */
void find_entry()
{
	gimple_seq seq = NULL;
	tree words = runtime_variable("mcchk_entries", build_array_type_nelts(pointer_sized_int_node, entries), false);
	tree at = compute(&seq, RSHIFT_EXPR, frame_address(&seq), build_int_cst(integer_type_node, 4));
	at = compute(&seq, BIT_AND_EXPR, compute(&seq, PLUS_EXPR, at, return_address(&seq)), number(entries - 1));
	at = compute(&seq, LSHIFT_EXPR, at, build_int_cst(integer_type_node, 3));
	entry_address = compute(&seq, PLUS_EXPR, at, as_number(&seq, build_fold_addr_expr(words)));
	annotate_all_with_location(seq, UNKNOWN_LOCATION);
	gimple_stmt_iterator begin = gsi_after_labels(first_block);
	gsi_insert_seq_before(&begin, seq, GSI_SAME_STMT);
}

/* That word. */
tree entry_word(gimple_seq *seq)
{
	tree type = build_qualified_type(pointer_sized_int_node, TYPE_QUAL_VOLATILE), pointer = build_pointer_type(type);
	if (!entry_address)
		find_entry();
	tree where = build2(MEM_REF, type, assign(seq, pointer, NOP_EXPR, entry_address), build_zero_cst(pointer));
	TREE_THIS_VOLATILE(where) = TREE_SIDE_EFFECTS(where) = 1;
	tree word = make_ssa_name(pointer_sized_int_node);
	gimple_seq_add_stmt(seq, gimple_build_assign(word, where));
	return word;
}

/* Whether a place has its map in this call of the function. */
tree is_own(gimple_seq *seq, tree touch)
{
	tree context = compute(seq, MINUS_EXPR, entry_word(seq), frame_address(seq));
	return assign(seq, boolean_type_node, EQ_EXPR, context, touch_word(seq, touch, touch_context));
}

bool has_line(gimple *stmt)
{
	return !is_gimple_debug(stmt) && LOCATION_LOCUS(gimple_location(stmt)) != UNKNOWN_LOCATION;
}

/* The source line of a statement that uses what a statement computes. */
location_t line_of_use(gimple *stmt)
{
	tree value = gimple_get_lhs(stmt);
	if (!value || TREE_CODE(value) != SSA_NAME)
		return UNKNOWN_LOCATION;
	imm_use_iterator uses;
	use_operand_p use;
	FOR_EACH_IMM_USE_FAST(use, uses, value)
		if (has_line(USE_STMT(use)))
			return gimple_location(USE_STMT(use));
	return UNKNOWN_LOCATION;
}

/* The source line of a statement. Some that the compiler has made have none. A load is
 * of the line that its value is used on; what else there is counts as that of what comes
 * before it. */
location_t line_of(gimple *stmt)
{
	if (has_line(stmt))
		return gimple_location(stmt);
	access a;
	if (gimple_bb(stmt) && announces(stmt, a) && !a.store) {
		gimple_stmt_iterator at = gsi_for_stmt(stmt);
		while (!gsi_end_p(at) && (is_gimple_debug(gsi_stmt(at)) || announces(gsi_stmt(at), a)))
			gsi_next(&at);
		if (!gsi_end_p(at)) {
			location_t line = has_line(gsi_stmt(at)) ? gimple_location(gsi_stmt(at)) : line_of_use(gsi_stmt(at));
			if (line != UNKNOWN_LOCATION)
				return line;
		}
	}
	for (basic_block block = gimple_bb(stmt); block; block = get_immediate_dominator(CDI_DOMINATORS, block)) {
		gimple_stmt_iterator at = block == gimple_bb(stmt) ? gsi_for_stmt(stmt) : gsi_last_bb(block);
		for (; !gsi_end_p(at); gsi_prev(&at))
			if (has_line(gsi_stmt(at)))
				return gimple_location(gsi_stmt(at));
	}
	return DECL_SOURCE_LOCATION(cfun->decl);
}

void remove(gimple *stmt)
{
	gimple_stmt_iterator at = gsi_for_stmt(stmt);
	unlink_stmt_vdef(stmt);
	gsi_remove(&at, true);
	release_defs(stmt);
}
