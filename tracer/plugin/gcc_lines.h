/* gfortran gives a call whose arguments are plain variables no line where the interface says that one
 * of them is INTENT(OUT): only what ends that one's old value, in front of the call, has it. The call
 * gets that line here, before the compiler gives it the one of the statement that it lies in. */

int (*gimplify_of_language)(tree *, gimple_seq *, gimple_seq *);

int give_line(tree *expression, gimple_seq *before, gimple_seq *behind)
{
	static location_t ended = UNKNOWN_LOCATION; /* where an old value was, if nothing but such came since */
	tree e = *expression;
	if (TREE_CODE(e) == MODIFY_EXPR)
		ended = TREE_CLOBBER_P(TREE_OPERAND(e, 1)) ? EXPR_LOCATION(e) : UNKNOWN_LOCATION;
	else if (TREE_CODE(e) == CALL_EXPR) {
		if (!EXPR_HAS_LOCATION(e) && ended != UNKNOWN_LOCATION)
			SET_EXPR_LOCATION(e, ended);
		ended = UNKNOWN_LOCATION;
	} else if (EXPR_P(e) && TREE_SIDE_EFFECTS(e))
		ended = UNKNOWN_LOCATION;
	return gimplify_of_language(expression, before, behind);
}

void give_lines()
{
	if (!lang_GNU_Fortran())
		return;
	gimplify_of_language = lang_hooks.gimplify_expr;
	lang_hooks.gimplify_expr = give_line;
}
