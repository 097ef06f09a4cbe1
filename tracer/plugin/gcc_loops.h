/* A part of gcc.cc: accesses of loops that are announced behind them. */

/* ---- loops ---- */

/* Whether a call is of a function that computes numbers of numbers: those of <math.h>
 * that may set errno are neither const nor pure. */
bool mathematical(gimple *call)
{
	if (!gimple_call_builtin_p(call, BUILT_IN_NORMAL) || !gimple_call_lhs(call) ||
	    !FLOAT_TYPE_P(TREE_TYPE(gimple_call_lhs(call))))
		return false;
	for (unsigned i = 0; i < gimple_call_num_args(call); i++) {
		tree type = TREE_TYPE(gimple_call_arg(call, i));
		if (!FLOAT_TYPE_P(type) && !INTEGRAL_TYPE_P(type))
			return false;
	}
	return true;
}

/* Whether nothing in the statement orders this thread with others, and control goes on
 * behind it. */
bool is_quiet(gimple *stmt)
{
	if (is_gimple_debug(stmt) || gimple_clobber_p(stmt)) /* the latter, volatile, ends a temporary */
		return true;
	access a;
	if (is_gimple_call(stmt)) {
		int flags = gimple_call_flags(stmt);
		return announces(stmt, a) || mathematical(stmt) ||
		       ((flags & (ECF_CONST | ECF_PURE)) && !(flags & (ECF_NORETURN | ECF_RETURNS_TWICE)));
	}
	if (gimple_has_volatile_ops(stmt))
		return false;
	if (gasm *assembler = dyn_cast<gasm *>(stmt))
		return !gimple_asm_volatile_p(assembler) && !gimple_asm_clobbers_memory_p(assembler);
	return true;
}

/* Whether nothing in the loop, or in those in it, orders this thread with others, and
 * it is left by its exits only. */
bool is_quiet(class loop *loop)
{
	basic_block *body = get_loop_body(loop);
	bool quiet = true;
	for (unsigned i = 0; quiet && i < loop->num_nodes; i++) {
		edge e;
		edge_iterator edges;
		FOR_EACH_EDGE(e, edges, body[i]->succs)
			quiet = quiet && !(e->flags & (EDGE_COMPLEX | EDGE_FAKE | EDGE_IRREDUCIBLE_LOOP));
		for (gimple_stmt_iterator at = gsi_start_bb(body[i]); quiet && !gsi_end_p(at); gsi_next(&at))
			quiet = is_quiet(gsi_stmt(at));
	}
	free(body);
	return quiet;
}

/* Whether nothing in the loop can be a call of the program's own. */
bool is_calm(class loop *loop)
{
	basic_block *body = get_loop_body(loop);
	bool calm = true;
	access a;
	for (unsigned i = 0; calm && i < loop->num_nodes; i++)
		for (gimple_stmt_iterator at = gsi_start_bb(body[i]); calm && !gsi_end_p(at); gsi_next(&at))
			calm = !is_gimple_call(gsi_stmt(at)) || gimple_call_internal_p(gsi_stmt(at)) || announces(gsi_stmt(at), a) ||
			       gimple_call_builtin_p(gsi_stmt(at), BUILT_IN_NORMAL);
	free(body);
	return calm;
}

/* An access that is announced behind a loop. */
struct announced_access {
	unsigned size;
	bool store, may_touch;
	location_t line;
	basic_block made;
	tree start, step;

	tree kind() const { return number(size | (store ? store_flag << 16 : 0)); }
};

/* Calls of mcchk_bundle, and behind each so many that are to be made if it says so. */
struct bundle_call {
	gcall *call;
	unsigned alone;
};
auto_vec<bundle_call> bundle_calls;

/* What changes by the same in each iteration of a loop. */
struct linear {
	tree first, growth;
};

/* A loop that announces accesses behind it. */
class announcing_loop {
public:
	explicit announcing_loop(class loop *l) : loop(l), exits(get_loop_exit_edges(l)) {}
	bool possible() const;
	void take_nested();
	void take_accesses();
	void announce();
	bool is_calm() const { return ::is_calm(loop); }
	bool is_in_one_of(const auto_vec<announcing_loop *> &others) const;
	void map_rest(hash_map<tree, name_expansion *> **known);

private:
	class loop *loop;
	auto_vec<edge> exits;
	tree passes = NULL_TREE; /* of the latch, up to an exit */
	tree moment = NULL_TREE;
	unsigned taken = 0;
	auto_vec<announced_access> announced;

	bool take(const access &a);
	bool take_nested(const access &a);
	bool is_short() const;
	bool has_room() const { return (taken + 1) * exits.length() <= most_calls; }
	bool made_before(basic_block block, edge exit) const { return dominated_by_p(CDI_DOMINATORS, exit->src, block); }
	bool passes_once(basic_block block) const;
	basic_block guard_of(class loop *inner, tree &condition) const;
	tree always(tree expression) const;
	bool is_linear(tree expression, tree type, linear &of) const;
	bool holds_where_positive(enum tree_code code, tree a, tree b, const linear &of, unsigned plus) const;
	basic_block grows(class loop *inner, bool last, tree &count, tree &growth) const;
	void begin_moment();
	void begin();
	tree times(basic_block made, edge exit) const;
	void announce_nest(const access &a, basic_block made, tree start, tree step, tree stride, tree count, tree growth);
	void announce(edge exit);
	bool bundle(gimple_seq *seq, edge exit, tree often, const auto_vec<tree> &start, const auto_vec<tree> &step) const;
	void is_taken(const access &a);
};

bool announcing_loop::possible() const
{
	return loop->latch && !exits.is_empty() && exits.length() <= most_exits && is_quiet(loop) && !is_short();
}

bool announcing_loop::is_short() const
{
	tree known = exits.length() == 1 ? number_of_latch_executions(loop) : chrec_dont_know;
	return tree_fits_uhwi_p(known) && tree_to_uhwi(known) < least_passes;
}

/* Whether each iteration passes a block, or has left the loop before. In the last one, a
 * block that is `made_before` an exit is passed. */
bool announcing_loop::passes_once(basic_block block) const
{
	if (!dominated_by_p(CDI_DOMINATORS, loop->latch, block))
		return false;
	for (edge exit : exits)
		if (!made_before(block, exit) && !dominated_by_p(CDI_DOMINATORS, block, exit->src))
			return false;
	return true;
}

/* The moment at which the loop began. */
void announcing_loop::begin_moment()
{
	if (moment)
		return;
	tree type = build_qualified_type(pointer_sized_int_node, TYPE_QUAL_VOLATILE);
	moment = make_ssa_name(pointer_sized_int_node);
	gimple *load = gimple_build_assign(moment, runtime_variable("mcchk_moment", type, false));
	gimple_set_location(load, UNKNOWN_LOCATION);
	gsi_insert_on_edge(loop_preheader_edge(loop), load);
}

/* What all announcements need: the moment at which the loop began, and how often it has
 * gone round when it is left. That is counted where it cannot be known. */
void announcing_loop::begin()
{
	begin_moment();
	if (passes)
		return;
	if (exits.length() == 1) {
		tree known = number_of_latch_executions(loop);
		if (known != chrec_dont_know) {
			passes = fold_convert(pointer_sized_int_node, known);
			return;
		}
	}
	gimple_stmt_iterator at;
	bool after;
	standard_iv_increment_position(loop, &at, &after);
	create_iv(build_zero_cst(pointer_sized_int_node), build_one_cst(pointer_sized_int_node), NULL_TREE, loop, &at, after,
		  &passes, NULL);
}

/* Takes an access out of the loop, if that can be done: one made once in each iteration,
 * at addresses of one step. */
bool announcing_loop::take(const access &a)
{
	basic_block block = gimple_bb(a.call);
	affine_iv address;
	if (block->loop_father != loop || !has_room() || !passes_once(block) || !simple_iv(loop, loop, a.address, &address, true))
		return false;
	begin();
	announced.safe_push({a.size, a.store, may_touch(a), line_of(a.call), block, address.base, address.step});
	is_taken(a);
	return true;
}

/* A block that each iteration passes, and of which a condition, the same in all of them,
 * says whether it goes through a loop in the loop; without a condition it always does. */
basic_block announcing_loop::guard_of(class loop *inner, tree &condition) const
{
	condition = NULL_TREE;
	if (passes_once(inner->header))
		return inner->header;
	basic_block front = loop_preheader_edge(inner)->src;
	if (!single_pred_p(front) || !single_succ_p(front))
		return NULL;
	edge into = single_pred_edge(front);
	gcond *test = safe_dyn_cast<gcond *>(last_stmt(into->src));
	if (!test || into->src->loop_father != loop || !passes_once(into->src) || !expr_invariant_in_loop_p(loop, gimple_cond_lhs(test)) ||
	    !expr_invariant_in_loop_p(loop, gimple_cond_rhs(test)))
		return NULL;
	condition = build2(gimple_cond_code(test), boolean_type_node, gimple_cond_lhs(test), gimple_cond_rhs(test));
	if (into->flags & EDGE_FALSE_VALUE)
		condition = build1(TRUTH_NOT_EXPR, boolean_type_node, condition);
	return into->src;
}

/* What an expression is that is the same in each iteration though its operands are not, as
 * in the number of passes from r * n to (r + 1) * n. */
tree announcing_loop::always(tree expression) const
{
	if (expression == chrec_dont_know || expr_invariant_in_loop_p(loop, expression))
		return expression;
	if (TREE_CODE(expression) == COND_EXPR && COMPARISON_CLASS_P(TREE_OPERAND(expression, 0))) {
		tree test = TREE_OPERAND(expression, 0), a = TREE_OPERAND(test, 0), b = TREE_OPERAND(test, 1), type = TREE_TYPE(a);
		if (!INTEGRAL_TYPE_P(type) || !TYPE_OVERFLOW_UNDEFINED(type))
			return chrec_dont_know;
		tree distance = chrec_fold_minus(type, instantiate_parameters(loop, a), instantiate_parameters(loop, b));
		if (TREE_CODE(distance) != INTEGER_CST)
			return chrec_dont_know;
		test = fold_build2(TREE_CODE(test), boolean_type_node, distance, build_zero_cst(type));
		if (TREE_CODE(test) != INTEGER_CST)
			return chrec_dont_know;
		return always(TREE_OPERAND(expression, integer_zerop(test) ? 2 : 1));
	}
	expression = instantiate_parameters(loop, expression);
	return chrec_contains_undetermined(expression) || tree_contains_chrecs(expression, NULL) ? chrec_dont_know : expression;
}

/* Whether two numbers of a type are the same. */
static bool are_same(tree a, tree b, tree type)
{
	hash_map<tree, name_expansion *> *known = NULL;
	aff_tree x, y;
	tree_to_aff_combination_expand(a, type, &x, &known);
	tree_to_aff_combination_expand(b, type, &y, &known);
	free_affine_expand_cache(&known);
	aff_combination_scale(&y, -1);
	aff_combination_add(&x, &y);
	return aff_combination_zero_p(&x);
}

/* Takes apart a number that is never less than 0: a comparison `some` says whether it is another
 * number, or 0; without that it is. */
struct at_least_zero {
	enum tree_code some = ERROR_MARK;
	tree a, b, number;

	explicit at_least_zero(tree expression) : number(expression)
	{
		tree inner = expression;
		STRIP_NOPS(inner);
		if (TREE_CODE(inner) == MAX_EXPR && integer_zerop(TREE_OPERAND(inner, 1)) && !TYPE_UNSIGNED(TREE_TYPE(inner))) {
			number = fold_convert(TREE_TYPE(expression), TREE_OPERAND(inner, 0));
			some = GT_EXPR;
			a = TREE_OPERAND(inner, 0);
			b = TREE_OPERAND(inner, 1);
		} else if (TREE_CODE(expression) == COND_EXPR && COMPARISON_CLASS_P(TREE_OPERAND(expression, 0))) {
			tree test = TREE_OPERAND(expression, 0);
			bool otherwise = integer_zerop(TREE_OPERAND(expression, 1));
			if (!otherwise && !integer_zerop(TREE_OPERAND(expression, 2)))
				return;
			number = TREE_OPERAND(expression, otherwise ? 2 : 1);
			some = otherwise ? invert_tree_comparison(TREE_CODE(test), false) : TREE_CODE(test);
			a = TREE_OPERAND(test, 0);
			b = TREE_OPERAND(test, 1);
		}
	}
};

/* Whether an expression changes by the same in each iteration; it is taken as one of an unsigned
 * type, modulo that. */
bool announcing_loop::is_linear(tree expression, tree type, linear &of) const
{
	expression = instantiate_parameters(loop, expression);
	tree own = TREE_TYPE(expression);
	if (!INTEGRAL_TYPE_P(own) || TYPE_PRECISION(own) > TYPE_PRECISION(type) ||
	    (TYPE_PRECISION(own) < TYPE_PRECISION(type) && !TYPE_OVERFLOW_UNDEFINED(own)))
		return false;
	of = {expression, build_zero_cst(own)};
	if (TREE_CODE(expression) == POLYNOMIAL_CHREC && CHREC_VARIABLE(expression) == (unsigned)loop->num)
		of = {CHREC_LEFT(expression), CHREC_RIGHT(expression)};
	for (tree *part : {&of.first, &of.growth}) {
		if (chrec_contains_undetermined(*part) || tree_contains_chrecs(*part, NULL) || !expr_invariant_in_loop_p(loop, *part))
			return false;
		*part = fold_convert(type, *part);
	}
	return true;
}

/* Whether a comparison holds just where a number `of`, `plus` something, is more than 0. */
bool announcing_loop::holds_where_positive(enum tree_code code, tree a, tree b, const linear &of, unsigned plus) const
{
	tree type = TREE_TYPE(of.first);
	linear x, y;
	if (!is_linear(a, type, x) || !is_linear(b, type, y))
		return false;
	auto differs = [&](const linear &more, const linear &less, unsigned by) {
		tree first = fold_build2(PLUS_EXPR, type, of.first, build_int_cst(type, plus));
		tree from = fold_build2(PLUS_EXPR, type, fold_build2(MINUS_EXPR, type, more.first, less.first), build_int_cst(type, by));
		return are_same(first, from, type) && are_same(of.growth, fold_build2(MINUS_EXPR, type, more.growth, less.growth), type);
	};
	switch (code) {
	case LT_EXPR: return differs(y, x, 0);
	case LE_EXPR: return differs(y, x, 1);
	case GT_EXPR: return differs(x, y, 0);
	case GE_EXPR: return differs(x, y, 1);
	case NE_EXPR: return differs(x, y, 0) || differs(y, x, 0);
	default: return false;
	}
}

/* How often an access of a loop in the loop is made that is gone through once more, or less often, in
 * each iteration than in the one before: as a number, and by how much that grows; where it is
 * less than one, the access is not made. (Rows of 2^31 elements, in a loop that counts with so
 * few bits, are not expected.) Returns a block that each iteration passes; NULL: it is not so. */
basic_block announcing_loop::grows(class loop *inner, bool last, tree &count, tree &growth) const
{
	tree latch = number_of_latch_executions(inner);
	if (latch == chrec_dont_know)
		return NULL;
	at_least_zero often(latch);
	tree type = unsigned_type_for(TREE_TYPE(often.number));
	bool always = often.some == ERROR_MARK;
	linear n;
	if ((!always && last) || !is_linear(often.number, type, n))
		return NULL;
	if (!always && !holds_where_positive(often.some, often.a, often.b, n, 0) &&
	    !holds_where_positive(often.some, often.a, often.b, n, 1)) /* where it is 0, it is in either case */
		return NULL;
	tree condition;
	basic_block once = guard_of(inner, condition);
	if (!once) {
		basic_block front = loop_preheader_edge(inner)->src;
		edge into = single_pred_p(front) && single_succ_p(front) ? single_pred_edge(front) : NULL;
		gcond *test = into && always ? safe_dyn_cast<gcond *>(last_stmt(into->src)) : NULL;
		if (!test || into->src->loop_father != loop || !passes_once(into->src))
			return NULL;
		enum tree_code code = gimple_cond_code(test);
		if (into->flags & EDGE_FALSE_VALUE)
			code = invert_tree_comparison(code, false);
		if (!holds_where_positive(code, gimple_cond_lhs(test), gimple_cond_rhs(test), n, 1))
			return NULL;
		condition = NULL_TREE;
		once = into->src;
	}
	tree some = signed_type_for(type), number = signed_type_for(pointer_sized_int_node);
	count = fold_convert(number, fold_convert(some, n.first));
	if (last)
		count = fold_build2(PLUS_EXPR, number, count, build_one_cst(number));
	growth = fold_convert(number, fold_convert(some, n.growth));
	if (condition) {
		count = build3(COND_EXPR, number, condition, count, build_zero_cst(number));
		growth = build3(COND_EXPR, number, condition, growth, build_zero_cst(number));
	}
	count = fold_convert(pointer_sized_int_node, count);
	growth = fold_convert(pointer_sized_int_node, growth);
	return once;
}

/* The same for an access of a loop in the loop: one that each iteration goes through, each
 * time as often, or so much more or less often. */
bool announcing_loop::take_nested(const access &a)
{
	basic_block block = gimple_bb(a.call);
	class loop *inner = block->loop_father;
	edge leaves = inner != loop && loop_outer(inner) == loop ? single_exit(inner) : NULL;
	if (!leaves || !has_room() || !inner->latch || !dominated_by_p(CDI_DOMINATORS, inner->latch, block))
		return false;
	bool last = made_before(block, leaves);
	if (!last && !dominated_by_p(CDI_DOMINATORS, block, leaves->src))
		return false;
	for (edge exit : exits)
		if (flow_bb_inside_loop_p(inner, exit->src))
			return false;
	tree often = always(number_of_latch_executions(inner)), count, growth = NULL_TREE, condition = NULL_TREE;
	basic_block once = NULL;
	if (often == chrec_dont_know || !expr_invariant_in_loop_p(loop, often))
		once = grows(inner, last, count, growth);
	else
		once = guard_of(inner, condition);
	tree start = once ? analyze_scalar_evolution(inner, a.address) : chrec_dont_know;
	start = instantiate_scev(loop_preheader_edge(loop), inner, start);
	tree stride = build_zero_cst(pointer_sized_int_node), step = stride;
	if (TREE_CODE(start) == POLYNOMIAL_CHREC && CHREC_VARIABLE(start) == (unsigned)inner->num) {
		stride = CHREC_RIGHT(start);
		start = CHREC_LEFT(start);
	}
	if (TREE_CODE(start) == POLYNOMIAL_CHREC && CHREC_VARIABLE(start) == (unsigned)loop->num) {
		step = CHREC_RIGHT(start);
		start = CHREC_LEFT(start);
	}
	if (chrec_contains_undetermined(start) || tree_contains_chrecs(start, NULL) || tree_contains_chrecs(step, NULL) ||
	    tree_contains_chrecs(stride, NULL) || !expr_invariant_in_loop_p(loop, start) || !expr_invariant_in_loop_p(loop, step) ||
	    !expr_invariant_in_loop_p(loop, stride))
		return false;
	if (!growth) {
		growth = build_zero_cst(pointer_sized_int_node);
		count = fold_convert(pointer_sized_int_node, often);
		if (last)
			count = fold_build2(PLUS_EXPR, pointer_sized_int_node, count, build_one_cst(pointer_sized_int_node));
		if (condition)
			count = build3(COND_EXPR, pointer_sized_int_node, condition, count, build_zero_cst(pointer_sized_int_node));
	}
	announce_nest(a, once, start, step, stride, count, growth);
	return true;
}

/* How often a block has been passed where the loop is left. */
tree announcing_loop::times(basic_block made, edge exit) const
{
	return made_before(made, exit) ? fold_build2(PLUS_EXPR, pointer_sized_int_node, passes, build_one_cst(pointer_sized_int_node)) : passes;
}

/* The call in the loop is no longer needed. */
void announcing_loop::is_taken(const access &a)
{
	remove(a.call);
	taken++;
	places_announced++;
}

/* mcchk_nest(start, step, passes, stride, count, growth, size | flags << 16, moment) on each exit, for an access
 * that is made once the block `made` is passed. */
void announcing_loop::announce_nest(const access &a, basic_block made, tree start, tree step, tree stride, tree count, tree growth)
{
	tree kind = number(a.size | (a.store ? store_flag << 16 : 0));
	begin();
	for (edge exit : exits) {
		gimple_seq seq = NULL;
		tree from = as_number(&seq, start), by = as_number(&seq, step), rows = as_number(&seq, times(made, exit));
		tree along = as_number(&seq, stride), often = as_number(&seq, count), more = as_number(&seq, growth);
		gimple_seq_add_stmt(&seq, gimple_build_call(runtime_function("mcchk_nest", 8), 8, from, by, rows, along, often, more, kind, moment));
		annotate_all_with_location(seq, line_of(a.call));
		gsi_insert_seq_on_edge(exit, seq);
	}
	is_taken(a);
}

/* Asks mcchk_bundle(bundle, passes, moment, …) for all accesses; where it says 0 each is to be announced
 * alone. Returns whether that is done: they may be too few or too many. */
bool announcing_loop::bundle(gimple_seq *seq, edge exit, tree often, const auto_vec<tree> &start, const auto_vec<tree> &step) const
{
	vec<constructor_elt, va_gc> *words = NULL;
	auto_vec<tree> arguments;
	unsigned n = announced.length(), all = n;
	for (unsigned i = 0; i < n; i++)
		all += TREE_CODE(step[i]) != INTEGER_CST;
	if (n < 2 || all > most_bundled)
		return false;
	unsigned length = bundle_words + bundled_words * n;
	CONSTRUCTOR_APPEND_ELT(words, size_int(bundle_words - 1), number(n | all << 16));
	for (tree address : start)
		arguments.safe_push(address);
	for (unsigned i = 0; i < n; i++) {
		const announced_access &a = announced[i];
		bool fixed = TREE_CODE(step[i]) == INTEGER_CST;
		unsigned HOST_WIDE_INT word = tree_to_uhwi(a.kind()) | (unsigned HOST_WIDE_INT)made_before(a.made, exit) << 32;
		if (!fixed) {
			word |= (unsigned HOST_WIDE_INT)arguments.length() << 40;
			arguments.safe_push(step[i]);
		}
		unsigned at = bundle_words + bundled_words * i;
		if (fixed)
			CONSTRUCTOR_APPEND_ELT(words, size_int(at), step[i]);
		CONSTRUCTOR_APPEND_ELT(words, size_int(at + 1), number(word));
	}
	tree value = build_constructor(build_array_type_nelts(pointer_sized_int_node, length), words);
	TREE_CONSTANT(value) = TREE_STATIC(value) = 1;
	tree variable = place_variable("mcchk_bundle", length, value);
	auto_vec<tree> operands;
	for (tree first : {build_fold_addr_expr(variable), often, moment, number(0), number(0), number(0)})
		operands.safe_push(first);
	operands.safe_splice(arguments);
	gcall *call = gimple_build_call_vec(function_of_any("mcchk_bundle", pointer_sized_int_node), operands);
	gimple_call_set_lhs(call, make_ssa_name(pointer_sized_int_node));
	gimple_set_location(call, announced[0].line);
	gimple_seq_add_stmt(seq, call);
	bundle_calls.safe_push({call, n});
	return true;
}

/* mcchk_loop(start, step, passes, size | flags << 16, moment, touch) on an exit, for each
 * access. */
void announcing_loop::announce(edge exit)
{
	gimple_seq seq = NULL, calls = NULL;
	auto_vec<tree> start, step, count;
	for (const announced_access &a : announced) {
		gimple_seq of = NULL;
		start.safe_push(as_number(&of, a.start));
		step.safe_push(as_number(&of, a.step));
		count.safe_push(as_number(&of, times(a.made, exit)));
		annotate_all_with_location(of, a.line);
		gimple_seq_add_seq(&seq, of);
	}
	tree often = as_number(&seq, passes);
	bundle(&seq, exit, often, start, step);
	for (unsigned i = 0; i < announced.length(); i++) {
		const announced_access &a = announced[i];
		tree touch = a.may_touch ? build_fold_addr_expr(touch_variable("mcchk_loop_touch")) : number(0);
		gcall *call = gimple_build_call(runtime_function("mcchk_loop", 6), 6, start[i], step[i], count[i], a.kind(), moment, touch);
		gimple_set_location(call, a.line);
		gimple_seq_add_stmt(&calls, call);
	}
	gimple_seq_add_seq(&seq, calls);
	gsi_insert_seq_on_edge(exit, seq);
}

void announcing_loop::announce()
{
	for (edge exit : exits)
		if (!announced.is_empty())
			announce(exit);
}

/* Has each access announced alone only where the call for all of them says so. */
void decide_bundles()
{
	for (const bundle_call &b : bundle_calls) {
		gimple_stmt_iterator at = gsi_for_stmt(b.call), to;
		basic_block then, after;
		gimple_stmt_iterator condition = create_cond_insert_point(&at, false, false, true, &then, &after);
		gimple *test = gimple_build_cond(EQ_EXPR, gimple_call_lhs(b.call), number(0), NULL_TREE, NULL_TREE);
		gimple_set_location(test, gimple_location(b.call));
		gsi_insert_after(&condition, test, GSI_NEW_STMT);
		for (unsigned i = 0; i < b.alone; i++) {
			at = gsi_start_bb(after);
			to = gsi_last_bb(then);
			gsi_move_after(&at, &to);
		}
	}
	bundle_calls.truncate(0);
}

/* The announced accesses of a loop, and of those in it. */
void find_accesses(class loop *loop, auto_vec<access> &found)
{
	basic_block *body = get_loop_body_in_dom_order(loop);
	for (unsigned i = 0; i < loop->num_nodes; i++)
		for (gimple_stmt_iterator at = gsi_start_bb(body[i]); !gsi_end_p(at); gsi_next(&at)) {
			access a;
			if (announces(gsi_stmt(at), a))
				found.safe_push(a);
		}
	free(body);
}

void announcing_loop::take_nested()
{
	auto_vec<access> candidates;
	if (loop->inner)
		find_accesses(loop, candidates);
	for (const access &a : candidates)
		take_nested(a);
}

void announcing_loop::take_accesses()
{
	auto_vec<access> candidates;
	find_accesses(loop, candidates);
	for (const access &a : candidates)
		take(a);
}
