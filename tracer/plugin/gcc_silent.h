/* A part of gcc.cc: functions in which nothing is recorded. */

/* ---- functions in which nothing is recorded ---- */

/* Whether others may see what a statement loads or stores there, before pointers are
 * known. */
bool is_seen(gimple *, tree base, tree, void *)
{
	if (!DECL_P(base))
		return !CONSTANT_CLASS_P(base);
	return TREE_ADDRESSABLE(base) || is_global_var(base) || TREE_CODE(base) == RESULT_DECL;
}

/* Whether nothing in the statement is recorded, whatever is called; `calls` gets the
 * functions of this unit that it does. */
bool is_silent(gimple *stmt, auto_vec<cgraph_node *> &calls)
{
	if (is_gimple_debug(stmt) || gimple_call_internal_p(stmt, IFN_TSAN_FUNC_EXIT) || gimple_code(stmt) == GIMPLE_RESX ||
	    gimple_code(stmt) == GIMPLE_EH_DISPATCH)
		return true; /* C++ has what leaves a function by an exception say so, too, and go on */
	if (gimple_code(stmt) == GIMPLE_ASM || gimple_has_volatile_ops(stmt) ||
	    walk_stmt_load_store_addr_ops(stmt, NULL, is_seen, is_seen, NULL))
		return false;
	if (!is_gimple_call(stmt))
		return gimple_code(stmt) != GIMPLE_TRANSACTION && !is_gimple_omp(stmt) && !stmt_could_throw_p(cfun, stmt);
	tree callee = gimple_call_fndecl(stmt);
	if (!callee || gimple_call_internal_p(stmt))
		return false;
	if (gimple_call_flags(stmt) & ECF_CONST)
		return true;
	cgraph_node *node = cgraph_node::get(callee);
	if (!node || !node->has_gimple_body_p() || node->get_availability() < AVAIL_AVAILABLE)
		return false;
	calls.safe_push(node->ultimate_alias_target());
	return true;
}

/* Whether nothing in the function itself is recorded. */
bool is_silent(cgraph_node *node, auto_vec<cgraph_node *> &calls)
{
	function *f = DECL_STRUCT_FUNCTION(node->decl);
	if (!f || !f->cfg || !opt_for_fn(node->decl, optimize) || aggregate_value_p(DECL_RESULT(node->decl), node->decl) ||
	    f->calls_alloca || f->calls_setjmp || f->has_nonlocal_label || node->thunk || node->alias)
		return false;
	bool silent = true;
	basic_block block;
	push_cfun(f);
	FOR_EACH_BB_FN(block, f)
		for (gimple_stmt_iterator at = gsi_start_bb(block); silent && !gsi_end_p(at); gsi_next(&at))
			silent = is_silent(gsi_stmt(at), calls);
	pop_cfun();
	return silent;
}

/* Lets a function end in a jump to another: it does not announce its end then. */
void let_jump(tree function)
{
	basic_block block;
	push_cfun(DECL_STRUCT_FUNCTION(function));
	FOR_EACH_BB_FN(block, cfun)
		for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at);)
			if (gimple_call_internal_p(gsi_stmt(at), IFN_TSAN_FUNC_EXIT))
				gsi_remove(&at, true);
			else
				gsi_next(&at);
	pop_cfun();
	cl_optimization saved;
	cl_optimization_save(&saved, &global_options, &global_options_set);
	tree own = DECL_FUNCTION_SPECIFIC_OPTIMIZATION(function);
	cl_optimization_restore(&global_options, &global_options_set, TREE_OPTIMIZATION(own ? own : optimization_default_node));
	if (optimize >= 2)
		flag_optimize_sibling_calls = 1;
	DECL_FUNCTION_SPECIFIC_OPTIMIZATION(function) = build_optimization_node(&global_options, &global_options_set);
	cl_optimization_restore(&global_options, &global_options_set, &saved);
}

/* A function in which nothing is recorded, whatever it calls, is in no call stack, and
 * may be what the plain program has: no frame for a call that it ends with. */
void find_silent(void *, void *)
{
	cgraph_node *node;
	auto_delete_vec<auto_vec<cgraph_node *>> calls;
	auto_vec<cgraph_node *> silent;
	FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node) {
		auto *own = new auto_vec<cgraph_node *>;
		if (is_silent(node, *own)) {
			silent.safe_push(node);
			calls.safe_push(own);
		} else {
			delete own;
		}
	}
	for (bool more = true; more;) {
		more = false;
		for (unsigned i = 0; i < silent.length(); i++)
			for (cgraph_node *callee : *calls[i])
				if (!silent.contains(callee)) {
					silent.unordered_remove(i);
					delete calls[i];
					calls.unordered_remove(i--);
					more = true;
					break;
				}
	}
	for (cgraph_node *n : silent)
		let_jump(n->decl);
}
