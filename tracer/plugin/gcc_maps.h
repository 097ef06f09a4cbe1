/* A part of gcc.cc: what is left in loops that call nothing goes from one address to any
 * other. Its maps (struct mcchk_touch of ../runtime/mcchk.h) change in such a loop by nothing
 * but its own calls, so they are looked up in front of it, and again behind each of those. */

/* Accesses, and where the code keeps their map: from which number of an element on there are
 * how many. The number is that of the address, or where `base` is the same all the time, of
 * the distance from that. */
struct mapped {
	const group *g;
	tree touch, members;
	tree base, index;
	tree from, count, map, cold_from, cold_count; /* variables */
	tree plain; /* one that is 0 where the place has a test; NULL_TREE: it always has */

	unsigned shift() const { return exact_log2(g->first().size); }
};

auto_delete_vec<group> mapped_groups;
auto_vec<mapped> mapped_places;
/* Behind each of the loops: mcchk_maps_end; and what is `plain` of its places. */
struct mapped_end {
	gimple *call;
	tree plain;
};
auto_vec<mapped_end> mapped_ends;
/* In front of them: mcchk_maps_turn, for a place each. */
auto_vec<gimple *> mapped_turns;

void forget_maps()
{
	for (group *g : mapped_groups)
		delete g;
	mapped_groups.truncate(0);
	mapped_places.truncate(0);
	mapped_ends.truncate(0);
	mapped_turns.truncate(0);
}

/* The first word of each is known, the others are the run-time's. */
tree members_of(const group &g)
{
	vec<constructor_elt, va_gc> *words = NULL;
	for (unsigned i = 0; i < g.members.length(); i++) {
		const access &a = g.members[i];
		unsigned HOST_WIDE_INT word = (unsigned HOST_WIDE_INT)a.size << 32 | (a.store ? (unsigned HOST_WIDE_INT)store_flag << 48 : 0);
		CONSTRUCTOR_APPEND_ELT(words, size_int(member_words * i), number(word | (uint32_t)g.offsets[i]));
	}
	tree type = build_array_type_nelts(pointer_sized_int_node, member_words * g.members.length());
	tree value = build_constructor(type, words);
	TREE_CONSTANT(value) = TREE_STATIC(value) = 1;
	return place_variable("mcchk_members", member_words * g.members.length(), value);
}

/* Finds a base that stays the same in a loop, and what the elements of a group can be
 * numbered by from there. */
void number_elements(mapped &m, class loop *loop)
{
	aff_tree base = m.g->address, index;
	int unit = m.g->first().size;
	m.base = m.index = NULL_TREE;
	aff_combination_const(&index, base.type, 0);
	if (base.rest)
		return;
	for (unsigned i = 0; i < base.n;) {
		aff_comb_elt moving = base.elts[i];
		if (expr_invariant_in_loop_p(loop, moving.val)) {
			i++;
			continue;
		}
		if (wi::smod_trunc(moving.coef, unit) != 0)
			return;
		aff_combination_remove_elt(&base, i);
		aff_combination_add_elt(&index, moving.val, wi::sdiv_trunc(moving.coef, unit));
	}
	if (index.n == 0 || index.rest)
		return;
	m.index = aff_combination_to_tree(&index);
	gimple_seq seq = NULL;
	m.base = as_number(&seq, aff_combination_to_tree(&base));
	annotate_all_with_location(seq, UNKNOWN_LOCATION);
	if (seq)
		gsi_insert_seq_on_edge(loop_preheader_edge(loop), seq);
}

/* The number of the element that a map begins with. Where a base is no multiple of elements
 * away from it, all are beyond. */
tree begins(gimple_seq *seq, const mapped &m, int word)
{
	tree lo = touch_word(seq, m.touch, word);
	if (!m.base)
		return lo;
	tree distance = compute(seq, MINUS_EXPR, lo, m.base);
	tree odd = compute(seq, BIT_AND_EXPR, distance, number((1 << m.shift()) - 1));
	tree some = assign(seq, pointer_sized_int_node, NOP_EXPR, assign(seq, boolean_type_node, NE_EXPR, odd, number(0)));
	tree away = compute(seq, LSHIFT_EXPR, some, build_int_cst(integer_type_node, 62));
	tree with_sign = assign(seq, ptrdiff_type_node, NOP_EXPR, distance);
	with_sign = assign(seq, ptrdiff_type_node, RSHIFT_EXPR, with_sign, build_int_cst(integer_type_node, m.shift()));
	return compute(seq, PLUS_EXPR, away, assign(seq, pointer_sized_int_node, NOP_EXPR, with_sign));
}

/* Reads how far the place's map reaches in this call of the function. */
gimple_seq read_map(const mapped &m)
{
	gimple_seq seq = NULL;
	tree own = is_own(&seq, m.touch);
	tree all = compute(&seq, MINUS_EXPR, number(0), assign(&seq, pointer_sized_int_node, NOP_EXPR, own));
	tree from = begins(&seq, m, touch_lo), map = touch_word(&seq, m.touch, touch_map);
	if (m.base)
		map = compute(&seq, MINUS_EXPR, map, from);
	gimple_seq_add_stmt(&seq, gimple_build_assign(m.from, from));
	gimple_seq_add_stmt(&seq, gimple_build_assign(m.map, map));
	gimple_seq_add_stmt(&seq, gimple_build_assign(m.count, BIT_AND_EXPR, touch_word(&seq, m.touch, touch_count), all));
	gimple_seq_add_stmt(&seq, gimple_build_assign(m.cold_from, begins(&seq, m, touch_cold_lo)));
	gimple_seq_add_stmt(&seq, gimple_build_assign(m.cold_count, BIT_AND_EXPR, touch_word(&seq, m.touch, touch_cold_count), all));
	return seq;
}

bool announcing_loop::is_in_one_of(const auto_vec<announcing_loop *> &others) const
{
	for (const announcing_loop *other : others)
		if (other != this && flow_loop_nested_p(other->loop, loop))
			return true;
	return false;
}

/* Bytes from an address on that stays the same in a loop. */
struct reach {
	aff_tree base;
	HOST_WIDE_INT lo, hi;
};

const unsigned most_reaches = 4;
const HOST_WIDE_INT most_reached = 4096; /* bytes of each */

/* Adds to a reach what moves in a loop: a number, so many bytes each, of which it is known how
 * large it may be. */
bool add_moving(reach &r, const aff_comb_elt &moving)
{
	wide_int bits = tree_nonzero_bits(moving.val);
	if (!INTEGRAL_TYPE_P(TREE_TYPE(moving.val)) || !wi::ltu_p(bits, most_reached) || !wi::fits_shwi_p(moving.coef) ||
	    absu_hwi(moving.coef.to_shwi()) > (unsigned HOST_WIDE_INT)most_reached)
		return false;
	HOST_WIDE_INT most = (HOST_WIDE_INT)bits.to_uhwi() * moving.coef.to_shwi();
	(most < 0 ? r.lo : r.hi) += most;
	return true;
}

/* Finds where a group may lie; false: that is not known. */
bool find_reach(const group &g, class loop *loop, reach &r)
{
	widest_int offset;
	r.base = g.address;
	r.lo = g.lowest();
	r.hi = 0;
	for (unsigned i = 0; i < g.members.length(); i++)
		r.hi = MAX(r.hi, g.offsets[i] + (HOST_WIDE_INT)g.members[i].size);
	if (r.base.rest || !r.base.offset.is_constant(&offset) || !wi::fits_shwi_p(offset) || absu_hwi(offset.to_shwi()) > 1u << 30)
		return false;
	r.lo += offset.to_shwi();
	r.hi += offset.to_shwi();
	r.base.offset = 0;
	for (unsigned i = 0; i < r.base.n;) {
		aff_comb_elt moving = r.base.elts[i];
		if (expr_invariant_in_loop_p(loop, moving.val)) {
			i++;
			continue;
		}
		if (!add_moving(r, moving))
			return false;
		aff_combination_remove_elt(&r.base, i);
	}
	return r.hi - r.lo <= most_reached;
}

/* Makes one of two reaches if they are not far from one another. */
bool join(reach &r, const reach &other)
{
	aff_tree distance = r.base, base = other.base;
	widest_int offset;
	aff_combination_scale(&distance, -1);
	aff_combination_add(&distance, &base);
	if (distance.n > 0 || distance.rest || !distance.offset.is_constant(&offset) || offset != 0 ||
	    MAX(r.hi, other.hi) - MIN(r.lo, other.lo) > most_reached)
		return false;
	r.lo = MIN(r.lo, other.lo);
	r.hi = MAX(r.hi, other.hi);
	return true;
}

/* Finds out in front of a loop whether nothing matters of a few bytes in which some of its
 * places lie, from the first of them on: then these have no tests in it. */
tree look_at_reaches(class loop *loop, unsigned first)
{
	auto_vec<reach> all;
	tree plain = create_tmp_reg(pointer_sized_int_node, "mcchk_plain"), both = NULL_TREE;
	gimple_seq seq = NULL;
	for (unsigned i = first; i < mapped_places.length(); i++) {
		reach r;
		bool taken = false;
		if (!find_reach(*mapped_places[i].g, loop, r))
			continue;
		for (unsigned k = 0; !taken && k < all.length(); k++)
			taken = join(all[k], r);
		if (!taken && all.length() == most_reaches)
			continue;
		if (!taken)
			all.safe_push(r);
		mapped_places[i].plain = plain;
	}
	if (all.is_empty())
		return NULL_TREE;
	for (reach &r : all) {
		tree lo = compute(&seq, PLUS_EXPR, as_number(&seq, aff_combination_to_tree(&r.base)), number(r.lo));
		gcall *look = gimple_build_call(runtime_function("mcchk_loop_is_plain", 2, pointer_sized_int_node), 2, lo, number(r.hi - r.lo));
		tree one = make_ssa_name(pointer_sized_int_node);
		gimple_call_set_lhs(look, one);
		gimple_seq_add_stmt(&seq, look);
		both = both ? compute(&seq, BIT_AND_EXPR, both, one) : one;
	}
	gimple_seq_add_stmt(&seq, gimple_build_assign(plain, both));
	annotate_all_with_location(seq, UNKNOWN_LOCATION);
	gsi_insert_seq_on_edge(loop_preheader_edge(loop), seq);
	return plain;
}

void announcing_loop::map_rest(expansions **known)
{
	unsigned before = mapped_groups.length();
	basic_block *body = get_loop_body_in_dom_order(loop);
	for (unsigned i = 0; i < loop->num_nodes; i++)
		find_groups(body[i], known, true, mapped_groups);
	free(body);
	for (unsigned i = before; i < mapped_groups.length(); i++) {
		const group &g = *mapped_groups[i];
		auto variable = [](const char *name) { return create_tmp_reg(pointer_sized_int_node, name); };
		mapped m = {&g, touch_variable(), members_of(g), NULL_TREE, NULL_TREE, variable("mcchk_from"), variable("mcchk_count"),
			    variable("mcchk_map"), variable("mcchk_cold_from"), variable("mcchk_cold_count"), NULL_TREE};
		number_elements(m, loop);
		gimple_seq seq = NULL;
		gcall *turn = gimple_build_call(runtime_function("mcchk_maps_turn", 1), 1, build_fold_addr_expr(m.touch));
		gimple_seq_add_stmt(&seq, turn);
		gimple_seq_add_seq(&seq, read_map(m));
		annotate_all_with_location(seq, UNKNOWN_LOCATION);
		gsi_insert_seq_on_edge(loop_preheader_edge(loop), seq);
		mapped_turns.safe_push(turn);
		mapped_places.safe_push(m);
	}
	if (before == mapped_groups.length())
		return;
	begin_moment();
	tree plain = look_at_reaches(loop, before);
	for (edge exit : exits) {
		gimple *end = gimple_build_call(runtime_function("mcchk_maps_end", 1), 1, moment);
		gimple_set_location(end, UNKNOWN_LOCATION);
		gsi_insert_on_edge(exit, end);
		mapped_ends.safe_push({end, plain});
	}
}

void take_loops(function *f)
{
	loop_optimizer_init(LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
	if (number_of_loops(f) > 1) {
		scev_initialize();
		auto_delete_vec<announcing_loop> possible; /* known before anything is changed */
		for (auto loop : loops_list(f, LI_FROM_INNERMOST)) {
			auto *announcing = new announcing_loop(loop);
			if (announcing->possible())
				possible.safe_push(announcing);
			else
				delete announcing;
		}
		for (announcing_loop *loop : possible)
			loop->take_nested();
		auto_vec<announcing_loop *> calm; /* that are in no other */
		for (announcing_loop *loop : possible)
			if (loop->is_calm())
				calm.safe_push(loop);
		for (announcing_loop *loop : possible)
			loop->take_accesses();
		for (announcing_loop *loop : possible)
			loop->announce();
		expansions *known = NULL;
		for (announcing_loop *loop : calm)
			if (!loop->is_in_one_of(calm))
				loop->map_rest(&known);
		free_affine_expand_cache(&known);
		gsi_commit_edge_inserts();
		decide_bundles();
		scev_finalize();
	}
	loop_optimizer_finalize();
}
