/* A part of gcc.cc: accesses of one block that lie at known distances from one another, as
 * members of an object do. Nothing comes between them, so that all are made if one is: one
 * test is enough for all. */

/* No group is larger; one that is mapped is less than a page. */
const unsigned most_members = 24;
const HOST_WIDE_INT most_distance = 512;

/* Accesses that need one test: of the first address, which is known where the first of them
 * is announced, and of what lies beside it. */
struct group {
	auto_vec<access> members;
	auto_vec<HOST_WIDE_INT> offsets; /* from the first */
	aff_tree address;                /* of the first */
	bool known;                      /* that is */

	const access &first() const { return members[0]; }
	HOST_WIDE_INT lowest() const;
	HOST_WIDE_INT highest() const;
	bool takes(const access &a, const aff_tree &where, bool mapped);
};

HOST_WIDE_INT group::lowest() const
{
	HOST_WIDE_INT lowest = 0;
	for (HOST_WIDE_INT offset : offsets)
		lowest = MIN(lowest, offset);
	return lowest;
}

/* Of the bytes whose pages say whether an access matters: a larger one may begin on one that
 * does not. */
HOST_WIDE_INT group::highest() const
{
	HOST_WIDE_INT highest = 0;
	for (unsigned i = 0; i < members.length(); i++)
		highest = MAX(highest, offsets[i] + (members[i].size > 16 ? members[i].size - 1 : 0));
	return highest;
}

/* Whether the access is one of the group. */
bool group::takes(const access &a, const aff_tree &where, bool mapped)
{
	aff_tree distance = address;
	widest_int offset;
	if (!known || members.length() == most_members)
		return false;
	aff_combination_scale(&distance, -1);
	aff_tree other = where;
	aff_combination_add(&distance, &other);
	if (distance.n > 0 || distance.rest || !distance.offset.is_constant(&offset) || !wi::fits_shwi_p(offset))
		return false;
	HOST_WIDE_INT bytes = offset.to_shwi();
	if (absu_hwi(bytes) >= most_distance || (mapped && (a.size > first().size || bytes % (HOST_WIDE_INT)a.size != 0)))
		return false;
	members.safe_push(a);
	offsets.safe_push(bytes);
	return true;
}

/* Whether control goes on behind a statement, with nothing done that has to do with
 * announcements. */
bool goes_on(gimple *stmt)
{
	access a;
	return is_quiet(stmt) && (!is_gimple_call(stmt) || gimple_call_internal_p(stmt) || announces(stmt, a) || mathematical(stmt));
}

typedef hash_map<tree, name_expansion *> expansions;

/* The groups of a block; those of single accesses, too. `mapped`: for places with maps, whose
 * elements all members share (struct mcchk_member of ../runtime/mcchk.h). */
void find_groups(basic_block block, expansions **known, bool mapped, auto_delete_vec<group> &all)
{
	unsigned open = all.length(); /* the first that may go on */
	for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
		access a;
		aff_tree where;
		if (!goes_on(gsi_stmt(at)))
			open = all.length();
		if (!announces(gsi_stmt(at), a) || (mapped && !may_touch(a)))
			continue;
		tree_to_aff_combination_expand(a.address, sizetype, &where, known);
		bool taken = false;
		for (unsigned i = open; !taken && i < all.length(); i++)
			taken = all[i]->takes(a, where, mapped);
		if (taken)
			continue;
		auto *one = new group;
		one->members.safe_push(a);
		one->offsets.safe_push(0);
		one->address = where;
		one->known = true;
		all.safe_push(one);
	}
}
