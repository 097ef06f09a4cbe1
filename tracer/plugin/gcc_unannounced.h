/* A part of gcc.cc: what the sanitizer leaves out, and what it need not have announced. */

/* ---- what the sanitizer leaves out ---- */

/* Whether others may see what lies there. */
bool may_matter(tree object)
{
	tree base = get_base_address(object);
	if (!base)
		return false;
	if (TREE_CODE(base) == MEM_REF || TREE_CODE(base) == TARGET_MEM_REF) {
		tree pointer = TREE_OPERAND(base, 0);
		if (TREE_CODE(pointer) != ADDR_EXPR)
			return true;
		base = get_base_address(TREE_OPERAND(pointer, 0));
	}
	if (!base || !DECL_P(base))
		return base != NULL_TREE && !CONSTANT_CLASS_P(base) && TREE_CODE(base) != CONSTRUCTOR;
	if (TREE_READONLY(base) || (VAR_P(base) && DECL_HARD_REGISTER(base)))
		return false;
	return is_global_var(base) || may_be_aliased(base);
}

/* The same of what a pointer points to. */
bool may_matter_behind(tree pointer)
{
	return TREE_CODE(pointer) != ADDR_EXPR || may_matter(TREE_OPERAND(pointer, 0));
}

/* The call that announces an access to so many bytes, with what computes its arguments. */
gimple_seq announcement(tree address, tree size, bool store, location_t line)
{
	gimple_seq seq = NULL, more = NULL;
	address = force_gimple_operand(fold_convert(ptr_type_node, unshare_expr(address)), &more, true, NULL_TREE);
	gimple_seq_add_seq(&seq, more);
	more = NULL;
	size = force_gimple_operand(fold_convert(size_type_node, unshare_expr(size)), &more, true, NULL_TREE);
	gimple_seq_add_seq(&seq, more);
	tree function = builtin_decl_implicit(store ? BUILT_IN_TSAN_WRITE_RANGE : BUILT_IN_TSAN_READ_RANGE);
	gimple_seq_add_stmt(&seq, gimple_build_call(function, 2, address, size));
	annotate_all_with_location(seq, line);
	return seq;
}

void announce_before(gimple *stmt, tree address, tree size, bool store)
{
	gimple_stmt_iterator at = gsi_for_stmt(stmt);
	gsi_insert_seq_before(&at, announcement(address, size, store, gimple_location(stmt)), GSI_SAME_STMT);
}

/* A statement that may throw ends its block: what comes behind it stands on the edge. There is none behind
 * one that never returns, and what is made and stands nowhere would count as a use. */
void announce_after(gimple *stmt, tree address, tree size, bool store)
{
	edge e = stmt_ends_bb_p(stmt) ? find_fallthru_edge(gimple_bb(stmt)->succs) : NULL;
	if (stmt_ends_bb_p(stmt) && !e)
		return;
	gimple_seq seq = announcement(address, size, store, gimple_location(stmt));
	if (e) {
		gsi_insert_seq_on_edge(e, seq);
	} else {
		gimple_stmt_iterator at = gsi_for_stmt(stmt);
		gsi_insert_seq_after(&at, seq, GSI_SAME_STMT);
	}
}

/* An object in memory that a call takes or returns. */
void announce_object(gimple *call, tree object, bool store)
{
	tree size = NULL_TREE;
	if (TREE_CODE(object) == WITH_SIZE_EXPR) {
		size = TREE_OPERAND(object, 1);
		object = TREE_OPERAND(object, 0);
	}
	if (!(REFERENCE_CLASS_P(object) || VAR_P(object) || TREE_CODE(object) == PARM_DECL || TREE_CODE(object) == RESULT_DECL) ||
	    is_gimple_reg(object) || !may_matter(object))
		return;
	HOST_WIDE_INT bytes = int_size_in_bytes(TREE_TYPE(object));
	if (!size && bytes <= 0)
		return;
	if (!size)
		size = build_int_cst(size_type_node, bytes);
	tree address = build_fold_addr_expr(unshare_expr(object));
	if (store)
		announce_after(call, address, size, true);
	else
		announce_before(call, address, size, false);
}

/* The function of the C library that a builtin stands for, of which the run-time knows
 * what it reads and writes; NULL for others. */
const char *libraryFunction(built_in_function code)
{
	switch (code) {
	case BUILT_IN_MEMCPY: return "memcpy";
	case BUILT_IN_MEMMOVE: return "memmove";
	case BUILT_IN_MEMPCPY: return "mempcpy";
	case BUILT_IN_MEMSET: return "memset";
	case BUILT_IN_BCOPY: return "bcopy";
	case BUILT_IN_BZERO: return "bzero";
	case BUILT_IN_STRCPY: return "strcpy";
	case BUILT_IN_STPCPY: return "stpcpy";
	case BUILT_IN_STRNCPY: return "strncpy";
	case BUILT_IN_STPNCPY: return "stpncpy";
	case BUILT_IN_STRCAT: return "strcat";
	case BUILT_IN_STRNCAT: return "strncat";
	case BUILT_IN_MEMCMP:
	case BUILT_IN_MEMCMP_EQ:
	case BUILT_IN_BCMP: return "memcmp";
	case BUILT_IN_MEMCHR: return "memchr";
	case BUILT_IN_STRLEN: return "strlen";
	case BUILT_IN_STRNLEN: return "strnlen";
	case BUILT_IN_STRCMP: return "strcmp";
	case BUILT_IN_STRNCMP: return "strncmp";
	default: return NULL;
	}
}

void take_builtin(gimple *call)
{
	built_in_function code = DECL_FUNCTION_CODE(gimple_call_fndecl(call));
	if (const char *name = libraryFunction(code)) {
		bool matters = false;
		for (unsigned i = 0; i < gimple_call_num_args(call); i++) {
			tree argument = gimple_call_arg(call, i);
			matters = matters || (POINTER_TYPE_P(TREE_TYPE(argument)) && may_matter_behind(argument));
		}
		if (!matters)
			return;
		char as[32];
		snprintf(as, sizeof as, "%s ", name); /* no name of a variable of the run-time */
		tree id = get_identifier(as), decl = known(id);
		if (!decl) {
			tree builtin = gimple_call_fndecl(call);
			decl = remember(id, build_fn_decl(name, TREE_TYPE(builtin)));
			DECL_PURE_P(decl) = DECL_PURE_P(builtin); /* what reads the same again may go */
		}
		gimple_call_set_fndecl(call, decl);
		gimple_call_reset_alias_info(as_a<gcall *>(call)); /* of a builtin that says only what escapes */
	}
}

/* The sanitizer's function that compares and exchanges so many bytes; NULL: there is none. */
tree exchanging(unsigned bytes)
{
	switch (bytes) {
	case 1: return builtin_decl_implicit(BUILT_IN_TSAN_ATOMIC8_COMPARE_EXCHANGE_STRONG);
	case 2: return builtin_decl_implicit(BUILT_IN_TSAN_ATOMIC16_COMPARE_EXCHANGE_STRONG);
	case 4: return builtin_decl_implicit(BUILT_IN_TSAN_ATOMIC32_COMPARE_EXCHANGE_STRONG);
	case 8: return builtin_decl_implicit(BUILT_IN_TSAN_ATOMIC64_COMPARE_EXCHANGE_STRONG);
	case 16: return builtin_decl_implicit(BUILT_IN_TSAN_ATOMIC128_COMPARE_EXCHANGE_STRONG);
	default: return NULL_TREE;
	}
}

/* Compare-and-exchange as OpenMP's atomic updates are made of it where the processor has no
 * other instruction, as for floating point: the function is called in its place. */
void take_exchange(gimple *exchange)
{
	tree result = gimple_call_lhs(exchange), expected = gimple_call_arg(exchange, 1);
	tree function = exchanging(tree_to_uhwi(gimple_call_arg(exchange, 3)) & 255);
	if (!function || !result || !may_matter_behind(gimple_call_arg(exchange, 0)))
		return;
	tree type = TREE_TYPE(TREE_TYPE(result)), held = create_tmp_var(type, "mcchk_held");
	TREE_ADDRESSABLE(held) = 1;
	gimple_seq seq = NULL;
	gimple_seq_add_stmt(&seq, gimple_build_assign(held, assign(&seq, type, NOP_EXPR, expected))); /* which may have a sign */
	gcall *call = gimple_build_call(function, 5, gimple_call_arg(exchange, 0), build_fold_addr_expr(held), gimple_call_arg(exchange, 2),
					gimple_call_arg(exchange, 4), gimple_call_arg(exchange, 5));
	tree done = make_ssa_name(TREE_TYPE(TREE_TYPE(function)));
	gimple_call_set_lhs(call, done);
	gimple_seq_add_stmt(&seq, call);
	tree found = make_ssa_name(type), flag = make_ssa_name(type);
	gimple_seq_add_stmt(&seq, gimple_build_assign(found, held));
	gimple_seq_add_stmt(&seq, gimple_build_assign(flag, NOP_EXPR, done));
	annotate_all_with_location(seq, gimple_location(exchange));
	gimple_stmt_iterator at = gsi_for_stmt(exchange);
	gsi_insert_seq_before(&at, seq, GSI_SAME_STMT);
	gsi_replace(&at, gimple_build_assign(result, COMPLEX_EXPR, found, flag), true);
}

/* An instruction for vectors that the compiler knows as a function only: it streams, broadcasts,
 * or takes halves. What a mask or an index chooses of the memory is not told here. */
void take_instruction(gimple *call)
{
	tree function = gimple_call_fndecl(call), types = TYPE_ARG_TYPES(TREE_TYPE(function)), result = TREE_TYPE(TREE_TYPE(function));
	const char *name = IDENTIFIER_POINTER(DECL_NAME(function));
	HOST_WIDE_INT vector = VOID_TYPE_P(result) ? 0 : int_size_in_bytes(result);
	tree address = NULL_TREE, to = NULL_TREE;

	if (!startswith(name, "__builtin_ia32_") || strstr(name, "mask") || strstr(name, "gather") || strstr(name, "scatter"))
		return;
	for (unsigned i = 0; i < gimple_call_num_args(call) && types; i++, types = TREE_CHAIN(types)) {
		tree type = TREE_VALUE(types);
		if (POINTER_TYPE_P(type)) {
			address = gimple_call_arg(call, i);
			to = TREE_TYPE(type);
		} else if (VOID_TYPE_P(result)) {
			vector = int_size_in_bytes(type); /* which is stored */
		} else if (VECTOR_TYPE_P(type)) {
			vector = 0; /* of which a part is replaced */
		}
	}
	if (!address || VOID_TYPE_P(to) || !may_matter_behind(address) || !(VOID_TYPE_P(result) || VECTOR_TYPE_P(result)))
		return;
	HOST_WIDE_INT bytes = int_size_in_bytes(to);
	if (!VECTOR_TYPE_P(to) && vector > bytes && !strstr(name, "broadcast"))
		bytes = vector;
	if (VOID_TYPE_P(result))
		announce_after(call, address, build_int_cst(size_type_node, bytes), true);
	else
		announce_before(call, address, build_int_cst(size_type_node, bytes), false);
}

void take_unannounced(function *f)
{
	auto_vec<gimple *> calls, exchanges;
	basic_block block;
	access a;
	FOR_EACH_BB_FN(block, f)
		for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
			gimple *stmt = gsi_stmt(at);
			if (!is_gimple_call(stmt) || announces(stmt, a))
				continue;
			if (!gimple_call_internal_p(stmt))
				calls.safe_push(stmt);
			else if (gimple_call_internal_fn(stmt) == IFN_ATOMIC_COMPARE_EXCHANGE)
				exchanges.safe_push(stmt);
		}
	for (gimple *exchange : exchanges)
		take_exchange(exchange);
	for (gimple *call : calls) {
		if (gimple_call_builtin_p(call, BUILT_IN_NORMAL)) {
			take_builtin(call);
			continue;
		}
		if (gimple_call_builtin_p(call, BUILT_IN_MD)) {
			take_instruction(call);
			continue;
		}
		for (unsigned i = 0; i < gimple_call_num_args(call); i++)
			announce_object(call, gimple_call_arg(call, i), false);
		if (tree result = gimple_call_lhs(call))
			announce_object(call, result, true);
	}
	gsi_commit_edge_inserts();
}

/* ---- memory that only the function knows ---- */

/* What `mcchk doctor` tells of a unit: places that need no test, that have one, and that
 * are announced behind a loop (section .mcchk_places, ../places.go). */
unsigned long long places_without, places_tested, places_announced;

/* The variable or the pointer that an address is made of. */
tree base_of(tree address)
{
	for (;;) {
		if (TREE_CODE(address) == ADDR_EXPR) {
			tree base = get_base_address(TREE_OPERAND(address, 0));
			if (!base || TREE_CODE(base) != MEM_REF)
				return base;
			address = TREE_OPERAND(base, 0);
			continue;
		}
		gimple *made = TREE_CODE(address) == SSA_NAME ? SSA_NAME_DEF_STMT(address) : NULL;
		if (!made || !is_gimple_assign(made) || SSA_NAME_PTR_INFO(address))
			return address;
		tree from = gimple_assign_rhs1(made);
		if (gimple_assign_rhs_code(made) == POINTER_PLUS_EXPR || gimple_assign_rhs_code(made) == ADDR_EXPR ||
		    (gimple_assign_rhs_code(made) == SSA_NAME && POINTER_TYPE_P(TREE_TYPE(from))))
			address = from;
		else
			return address;
	}
}

/* Whether nobody but the function ever knows where that memory is, by the points-to
 * analysis of the compiler: then it can be no buffer. */
bool is_private(tree address)
{
	tree base = base_of(address);
	if (!base || TREE_CODE(base) != SSA_NAME || !POINTER_TYPE_P(TREE_TYPE(base)))
		return false;
	ptr_info_def *info = SSA_NAME_PTR_INFO(base);
	if (!info)
		return false;
	const pt_solution &to = info->pt;
	return !to.anything && !to.nonlocal && !to.escaped && !to.ipa_escaped && !to.vars_contains_nonlocal && !to.vars_contains_escaped &&
	       !to.vars_contains_escaped_heap && !to.vars_contains_interposable && to.vars && !bitmap_empty_p(to.vars);
}

void drop_private(function *f)
{
	auto_vec<gimple *> calls;
	basic_block block;
	access a;
	FOR_EACH_BB_FN(block, f)
		for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
			if (announces(gsi_stmt(at), a) && is_private(a.address))
				calls.safe_push(gsi_stmt(at));
	for (gimple *call : calls)
		remove(call);
	places_without += calls.length();
}

void write_places(void *, void *)
{
	if (places_without + places_tested + places_announced > 0)
		fprintf(asm_out_file, "\t.pushsection .mcchk_places,\"\",@progbits\n\t.quad %llu, %llu, %llu\n\t.popsection\n", places_without,
			places_tested, places_announced);
}
