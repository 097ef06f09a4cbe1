/* A part of gcc.cc: loads that stay under their condition.
 *
 * A load that cannot trap may be made whether its value is used or not, so the compiler
 * puts it in front of the loop, out of the branch that asks for it. Announced there, it
 * would be an access that the program never makes where the condition never holds. The
 * sanitizer's pass comes behind that motion (pass_lim); so such loads are volatile while
 * it runs, and are no longer when it is through.
 */

/* Whether others may see what a reference lies in, and the compiler may load it at will. */
bool loads_at_will(tree reference)
{
	if (tree_could_trap_p(reference) || !may_matter(reference))
		return false;
	tree base = get_base_address(reference);
	return !DECL_P(base) || may_be_aliased(base);
}

/* GFC_DESCRIPTOR_TYPE_P of gfortran. */
bool is_array_descriptor(tree type)
{
	return TREE_CODE(type) == RECORD_TYPE && TYPE_LANG_FLAG_1(type) && lang_GNU_Fortran();
}

/* Addresses, and what Fortran keeps of an array beside its elements, lead to the data: with
 * them in a branch, the accesses behind them would be those of no loop. */
bool leads_to_data(tree reference)
{
	if (POINTER_TYPE_P(TREE_TYPE(reference)))
		return true;
	for (; handled_component_p(reference); reference = TREE_OPERAND(reference, 0))
		if (TREE_CODE(reference) == COMPONENT_REF && is_array_descriptor(TREE_TYPE(TREE_OPERAND(reference, 0))))
			return true;
	return false;
}

/* Whether a value is another one each time around the loop, as far as can be seen. */
bool varies(tree value, class loop *loop, int depth)
{
	if (TREE_CODE(value) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF(value))
		return false;
	gimple *made = SSA_NAME_DEF_STMT(value);
	if (!flow_bb_inside_loop_p(loop, gimple_bb(made)))
		return false;
	if (gimple_code(made) != GIMPLE_ASSIGN || depth == 0)
		return true;
	for (unsigned i = 1; i < gimple_num_ops(made); i++)
		if (gimple_op(made, i) && varies(gimple_op(made, i), loop, depth - 1))
			return true;
	return false;
}

/* The same of where a reference lies. */
bool moves(tree reference, class loop *loop)
{
	for (; handled_component_p(reference); reference = TREE_OPERAND(reference, 0))
		if ((TREE_CODE(reference) == ARRAY_REF || TREE_CODE(reference) == ARRAY_RANGE_REF) && varies(TREE_OPERAND(reference, 1), loop, 8))
			return true;
	return TREE_CODE(reference) == MEM_REF && varies(TREE_OPERAND(reference, 0), loop, 8);
}

/* Whether who enters the loop comes by a block of it. */
bool always_comes_by(class loop *loop, basic_block block)
{
	if (!loop->latch || !dominated_by_p(CDI_DOMINATORS, loop->latch, block))
		return false;
	basic_block *body = get_loop_body(loop);
	bool comes = true;
	for (unsigned i = 0; comes && i < loop->num_nodes; i++)
		for (edge e : *body[i]->succs)
			comes = comes && (flow_bb_inside_loop_p(loop, e->dest) || dominated_by_p(CDI_DOMINATORS, body[i], block));
	free(body);
	return comes;
}

/* Makes a load volatile, or what it was. */
void hold(gimple *load, bool held)
{
	tree reference = gimple_assign_rhs1(load);
	if (DECL_P(reference)) { /* not the variable: this load of it */
		tree address = build_fold_addr_expr(reference);
		reference = build2(MEM_REF, TREE_TYPE(reference), address, build_int_cst(TREE_TYPE(address), 0));
		gimple_assign_set_rhs1(load, reference);
	}
	TREE_THIS_VOLATILE(reference) = held;
	gimple_set_plf(load, GF_PLF_2, held);
	update_stmt(load);
}

template <typename action> void each_load(function *f, action act)
{
	basic_block block;
	FOR_EACH_BB_FN(block, f)
		for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
			if (gimple_assign_load_p(gsi_stmt(at)))
				act(gsi_stmt(at), block);
}

void hold_conditional(function *f)
{
	loop_optimizer_init(AVOID_CFG_MODIFICATIONS);
	calculate_dominance_info(CDI_DOMINATORS);
	each_load(f, [](gimple *load, basic_block block) {
		class loop *loop = block->loop_father;
		tree reference = gimple_assign_rhs1(load);
		gimple_set_plf(load, GF_PLF_2, false);
		if (loop_depth(loop) > 0 && !gimple_has_volatile_ops(load) && is_gimple_reg_type(TREE_TYPE(reference)) && loads_at_will(reference) &&
		    !leads_to_data(reference) && !moves(reference, loop) && !always_comes_by(loop, block))
			hold(load, true);
	});
	loop_optimizer_finalize();
}

void release_conditional(function *f)
{
	each_load(f, [](gimple *load, basic_block) {
		if (gimple_plf(load, GF_PLF_2))
			hold(load, false);
	});
}
