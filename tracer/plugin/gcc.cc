/* A plug-in for gcc, g++ and gfortran: makes what -fsanitize=thread announces cheap.
 *
 * The pass of the sanitizer puts a call before every load and store that others may
 * see. This one comes right after it, where loops are not vectorized yet, and
 *
 * - takes the calls of a loop that has nothing in it by which another process could be
 *   ordered: an access of every iteration whose address moves by the same step is
 *   announced behind the loop, all its elements at once (mcchk_loop in ../runtime/runs.c);
 * - puts the test whether the page matters (one byte of the shadow) in place of the calls
 *   that are left, and the call behind it. Between the two a place that goes from one
 *   address to any other may set a byte in a map (../runtime/touches.c).
 *
 * What is announced of loops is the same to the byte, with the same source lines.
 *
 * Before that, it announces what the sanitizer leaves out: structures that calls take by
 * value or return, and what memcmp reads. Copies and fills by builtins, which the compiler would
 * expand to instructions where they are small, become calls of the functions that the
 * run-time knows.
 *
 * Compiled by the user's g++ against the headers of the user's compiler (../plugin.go).
 */
#include "gcc-plugin.h"
#include "plugin-version.h"

#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "ssa.h"
#include "stor-layout.h"
#include "stringpool.h"
#include "attribs.h"
#include "asan.h"
#include "cfgloop.h"
#include "alias.h"
#include "cgraph.h"
#include "context.h"
#include "fold-const.h"
#include "gimple-iterator.h"
#include "gimplify-me.h"
#include "gimplify.h"
#include "ssa-iterators.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "tree-scalar-evolution.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-manip.h"
#include "tree-ssa-loop-niter.h"
#include "varasm.h"

int plugin_is_GPL_compatible;

namespace {

/* What ../runtime/mcchk.h calls MCCHK_SHADOW, MCCHK_PARTS and MCCHK_PAGE_SHIFT, and MCCHK_STORE. */
const unsigned long long shadow = 0x100000000000ull;
const unsigned long long parts = 0x120000000000ull;
const int page_shift = 12;
const unsigned page = 1u << page_shift;
const unsigned store_flag = 1;
const unsigned touch_words = 8; /* at least as many as struct mcchk_touch has */

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

/* Whether the statement announces an access of known size, and which. */
bool announces(gimple *stmt, access &a)
{
	if (!gimple_call_builtin_p(stmt, BUILT_IN_NORMAL))
		return false;
	built_in_function code = DECL_FUNCTION_CODE(gimple_call_fndecl(stmt));
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
tree runtime_function(const char *name, unsigned arguments)
{
	tree id = get_identifier(name);
	if (tree decl = known(id))
		return decl;
	tree types = void_list_node;
	char spec[] = ".c. . . . . ";
	gcc_assert(2 + 2 * arguments < sizeof spec);
	spec[2 + 2 * arguments] = 0;
	for (unsigned i = 0; i < arguments; i++)
		types = tree_cons(NULL_TREE, pointer_sized_int_node, types);
	tree attribute = build_tree_list(get_identifier("fn spec"),
					 build_tree_list(NULL_TREE, build_string(strlen(spec) + 1, spec)));
	tree type = build_type_attribute_variant(build_function_type(void_type_node, types), attribute);
	tree decl = build_fn_decl(name, type);
	TREE_NOTHROW(decl) = 1;
	DECL_ATTRIBUTES(decl) = tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(decl));
	return remember(id, decl);
}

/* The built-in function that returns the frame pointer, which not all languages have. */
tree frame_address()
{
	if (tree decl = builtin_decl_explicit(BUILT_IN_FRAME_ADDRESS))
		return decl;
	tree type = build_function_type_list(ptr_type_node, unsigned_type_node, NULL_TREE);
	tree decl = build_fn_decl("__builtin_frame_address", type);
	set_decl_built_in_function(decl, BUILT_IN_NORMAL, BUILT_IN_FRAME_ADDRESS);
	TREE_NOTHROW(decl) = 1;
	set_builtin_decl(BUILT_IN_FRAME_ADDRESS, decl, false);
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

/* A variable of the place's own, struct mcchk_touch: the words are read by the code and
 * written by the run-time. */
tree touch_variable()
{
	tree word = build_qualified_type(pointer_sized_int_node, TYPE_QUAL_VOLATILE);
	tree type = build_array_type_nelts(word, touch_words);
	tree decl = build_decl(UNKNOWN_LOCATION, VAR_DECL, create_tmp_var_name("mcchk_touch"), type);
	TREE_STATIC(decl) = 1;
	TREE_USED(decl) = 1;
	TREE_ADDRESSABLE(decl) = 1;
	TREE_THIS_VOLATILE(decl) = 1;
	DECL_ARTIFICIAL(decl) = 1;
	DECL_IGNORED_P(decl) = 1;
	DECL_INITIAL(decl) = NULL_TREE;
	varpool_node::finalize_decl(decl);
	return decl;
}

/* Whether the place may get a map. */
bool may_touch(const access &a) { return optimize && a.size <= 16 && pow2p_hwi(a.size); }

/* The call that tells of an access of a page that matters. */
gcall *miss_call(const access &a, tree address, tree touch = NULL_TREE)
{
	char name[48];
	if (touch) {
		snprintf(name, sizeof name, "mcchk_miss_touch_%s%u", a.store ? "write" : "read", a.size);
		tree pointer = fold_convert(pointer_sized_int_node, build_fold_addr_expr(touch));
		return gimple_build_call(runtime_function(name, 2), 2, address, pointer);
	}
	if (a.size <= 16 && pow2p_hwi(a.size)) {
		snprintf(name, sizeof name, "mcchk_miss_%s%u", a.store ? "write" : "read", a.size);
		return gimple_build_call(runtime_function(name, 1), 1, address);
	}
	snprintf(name, sizeof name, "mcchk_miss_%s_range", a.store ? "write" : "read");
	return gimple_build_call(runtime_function(name, 2), 2, address, build_int_cst(pointer_sized_int_node, a.size));
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

/* A statement that may throw ends its block: what comes behind it stands on the edge. */
void announce_after(gimple *stmt, tree address, tree size, bool store)
{
	gimple_seq seq = announcement(address, size, store, gimple_location(stmt));
	if (!stmt_ends_bb_p(stmt)) {
		gimple_stmt_iterator at = gsi_for_stmt(stmt);
		gsi_insert_seq_after(&at, seq, GSI_SAME_STMT);
	} else if (edge e = find_fallthru_edge(gimple_bb(stmt)->succs)) {
		gsi_insert_seq_on_edge(e, seq);
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
const char *copying(built_in_function code)
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
	default: return NULL;
	}
}

void take_builtin(gimple *call)
{
	built_in_function code = DECL_FUNCTION_CODE(gimple_call_fndecl(call));
	if (const char *name = copying(code)) {
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
		if (!decl)
			decl = remember(id, build_fn_decl(name, TREE_TYPE(gimple_call_fndecl(call))));
		gimple_call_set_fndecl(call, decl);
		return;
	}
	switch (code) {
	case BUILT_IN_MEMCMP:
	case BUILT_IN_MEMCMP_EQ:
	case BUILT_IN_BCMP:
		for (unsigned i = 0; i < 2; i++)
			if (may_matter_behind(gimple_call_arg(call, i)))
				announce_before(call, gimple_call_arg(call, i), gimple_call_arg(call, 2), false);
		break;
	default:
		break;
	}
}

void take_unannounced(function *f)
{
	auto_vec<gimple *> calls;
	basic_block block;
	access a;
	FOR_EACH_BB_FN(block, f)
		for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at))
			if (is_gimple_call(gsi_stmt(at)) && !gimple_call_internal_p(gsi_stmt(at)) && !announces(gsi_stmt(at), a))
				calls.safe_push(gsi_stmt(at));
	for (gimple *call : calls) {
		if (gimple_call_builtin_p(call, BUILT_IN_NORMAL)) {
			take_builtin(call);
			continue;
		}
		for (unsigned i = 0; i < gimple_call_num_args(call); i++)
			announce_object(call, gimple_call_arg(call, i), false);
		if (tree result = gimple_call_lhs(call))
			announce_object(call, result, true);
	}
	gsi_commit_edge_inserts();
}

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
	if (is_gimple_debug(stmt))
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

/* A loop that announces accesses behind it. */
class announcing_loop {
public:
	explicit announcing_loop(class loop *l) : loop(l), exits(get_loop_exit_edges(l)) {}
	bool possible() const;
	void take_accesses();

private:
	class loop *loop;
	auto_vec<edge> exits;
	tree passes = NULL_TREE; /* of the latch, up to an exit */
	tree moment = NULL_TREE;

	bool take(const access &a, unsigned others);
	bool is_short() const;
	bool made_before(const access &a, edge exit) const;
	void begin();
	void announce(const access &a, const affine_iv &address, edge exit);
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

/* Whether the access is made before the loop is left there, in the last iteration. */
bool announcing_loop::made_before(const access &a, edge exit) const
{
	return dominated_by_p(CDI_DOMINATORS, exit->src, gimple_bb(a.call));
}

/* What all announcements need: the moment at which the loop began, and how often it has
 * gone round when it is left. That is counted where it cannot be known. */
void announcing_loop::begin()
{
	if (moment)
		return;
	tree type = build_qualified_type(pointer_sized_int_node, TYPE_QUAL_VOLATILE);
	moment = make_ssa_name(pointer_sized_int_node);
	gimple *load = gimple_build_assign(moment, runtime_variable("mcchk_moment", type, false));
	gimple_set_location(load, UNKNOWN_LOCATION);
	gsi_insert_on_edge(loop_preheader_edge(loop), load);
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
 * at addresses of one step. `others` have been taken before. */
bool announcing_loop::take(const access &a, unsigned others)
{
	basic_block block = gimple_bb(a.call);
	affine_iv address;
	if (block->loop_father != loop || (others + 1) * exits.length() > most_calls ||
	    !dominated_by_p(CDI_DOMINATORS, loop->latch, block) || !simple_iv(loop, loop, a.address, &address, true))
		return false;
	for (edge exit : exits)
		if (!made_before(a, exit) && !dominated_by_p(CDI_DOMINATORS, block, exit->src))
			return false;
	begin();
	for (edge exit : exits)
		announce(a, address, exit);
	remove(a.call);
	return true;
}

/* mcchk_loop(start, stride, count, size | flags << 16, moment) on an exit. */
void announcing_loop::announce(const access &a, const affine_iv &address, edge exit)
{
	gimple_seq seq = NULL;
	tree start = as_number(&seq, address.base), stride = as_number(&seq, address.step);
	tree count = passes;
	if (made_before(a, exit))
		count = fold_build2(PLUS_EXPR, pointer_sized_int_node, count, build_one_cst(pointer_sized_int_node));
	count = as_number(&seq, count);
	tree kind = build_int_cst(pointer_sized_int_node, a.size | (a.store ? store_flag << 16 : 0));
	gimple_seq_add_stmt(&seq, gimple_build_call(runtime_function("mcchk_loop", 5), 5, start, stride, count, kind, moment));
	annotate_all_with_location(seq, line_of(a.call));
	gsi_insert_seq_on_edge(exit, seq);
}

void announcing_loop::take_accesses()
{
	basic_block *body = get_loop_body_in_dom_order(loop);
	auto_vec<access> candidates;
	for (unsigned i = 0; i < loop->num_nodes; i++)
		for (gimple_stmt_iterator at = gsi_start_bb(body[i]); !gsi_end_p(at); gsi_next(&at)) {
			access a;
			if (announces(gsi_stmt(at), a))
				candidates.safe_push(a);
		}
	free(body);
	unsigned taken = 0;
	for (const access &a : candidates)
		taken += take(a, taken);
}

void take_loops(function *f)
{
	loop_optimizer_init(LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
	if (number_of_loops(f) > 1) {
		scev_initialize();
		auto_vec<class loop *> possible; /* known before anything is changed */
		for (auto loop : loops_list(f, LI_FROM_INNERMOST))
			if (announcing_loop(loop).possible())
				possible.safe_push(loop);
		for (class loop *loop : possible)
			announcing_loop(loop).take_accesses();
		gsi_commit_edge_inserts();
		scev_finalize();
	}
	loop_optimizer_finalize();
}

/* ---- single accesses ---- */

tree number(unsigned long long value) { return build_int_cst(pointer_sized_int_node, value); }

tree compute(gimple_seq *seq, tree_code code, tree a, tree b) { return assign(seq, pointer_sized_int_node, code, a, b); }

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

/* Whether an access matters whose page has that byte of the shadow, not 0: MCCHK_PART. */
tree part_matters(gimple_seq *seq, tree address, tree page, unsigned size)
{
	tree whole = compute(seq, BIT_AND_EXPR, assign(seq, pointer_sized_int_node, NOP_EXPR, page), number(1));
	tree mask = compute(seq, MINUS_EXPR, whole, number(1));
	tree distance = compute(seq, BIT_AND_EXPR, shift_right(seq, address, 6), mask);
	tree bits = assign(seq, pointer_sized_int_node, NOP_EXPR, byte_at(seq, parts, distance));
	tree granule = compute(seq, BIT_AND_EXPR, shift_right(seq, address, 3), number(7));
	bits = compute(seq, RSHIFT_EXPR, bits, granule);
	bits = compute(seq, BIT_AND_EXPR, bits, number(size > 8 ? 3 : 1));
	return compute(seq, BIT_IOR_EXPR, bits, compute(seq, BIT_AND_EXPR, address, number(size - 1)));
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

/* One of the words of a place's variable. */
tree touch_word(gimple_seq *seq, tree touch, int i)
{
	tree word = build4(ARRAY_REF, TREE_TYPE(TREE_TYPE(touch)), touch, build_int_cst(integer_type_node, i), NULL_TREE, NULL_TREE);
	tree name = make_ssa_name(pointer_sized_int_node);
	gimple_seq_add_stmt(seq, gimple_build_assign(name, word));
	return name;
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

/* Has a call that tells of an access made only where the place has no map for it, and the
 * map set otherwise: struct mcchk_touch. Returns the call. */
gimple *test_touch(gimple *stmt, const access &a, tree address, tree touch)
{
	gimple_seq seq = NULL, more = NULL;
	tree pointer = make_ssa_name(ptr_type_node);
	gcall *frame = gimple_build_call(frame_address(), 1, integer_zero_node);
	gimple_call_set_lhs(frame, pointer);
	gimple_seq_add_stmt(&seq, frame);
	tree here = assign(&seq, pointer_sized_int_node, NOP_EXPR, pointer);
	tree own = assign(&seq, boolean_type_node, EQ_EXPR, here, touch_word(&seq, touch, 0));
	tree element = compute(&seq, MINUS_EXPR, address, touch_word(&seq, touch, 1));
	if (a.size > 1)
		element = compute(&seq, RROTATE_EXPR, element, build_int_cst(pointer_sized_int_node, exact_log2(a.size)));
	tree within = assign(&seq, boolean_type_node, LT_EXPR, element, touch_word(&seq, touch, 2));
	tree both = assign(&seq, boolean_type_node, BIT_AND_EXPR, own, within);
	gcall *call = miss_call(a, address, touch);
	basic_block then = call_if(stmt, seq, EQ_EXPR, both, boolean_false_node, call);
	remove(stmt);

	edge e, other = NULL; /* past the call */
	edge_iterator edges;
	FOR_EACH_EDGE(e, edges, single_pred(then)->succs)
		if (e->dest != then)
			other = e;
	basic_block setting = split_edge(other);
	tree type = build_pointer_type(set_type());
	tree at = assign(&more, type, NOP_EXPR, compute(&more, PLUS_EXPR, touch_word(&more, touch, 3), element));
	tree byte = build2(MEM_REF, set_type(), at, build_zero_cst(type));
	gimple_seq_add_stmt(&more, gimple_build_assign(byte, build_one_cst(set_type())));
	annotate_all_with_location(more, line_of(call));
	gimple_stmt_iterator where = gsi_after_labels(setting);
	gsi_insert_seq_before(&where, more, GSI_SAME_STMT);
	return call;
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
	gimple *call = miss_call(a, address);
	call_if(a.call, seq, NE_EXPR, value, build_zero_cst(unsigned_char_type_node), call);
	if (a.size <= 16 && pow2p_hwi(a.size)) {
		gimple_seq more = NULL;
		tree touch = may_touch(a) ? touch_variable() : NULL_TREE;
		if (touch)
			call = test_touch(call, a, address, touch);
		tree matters = part_matters(&more, address, value, a.size);
		call_if(call, more, NE_EXPR, matters, number(0), miss_call(a, address, touch));
		remove(call);
	}
	remove(a.call);
}

/* A function returns: whether a pending buffer may lie in its frame. */
void test_exit(gimple *stmt)
{
	gimple_seq seq = NULL;
	tree pointer = make_ssa_name(ptr_type_node), low = make_ssa_name(pointer_sized_int_node);
	gcall *frame = gimple_build_call(frame_address(), 1, integer_zero_node);
	gimple_call_set_lhs(frame, pointer);
	gimple_seq_add_stmt(&seq, frame);
	tree number = assign(&seq, pointer_sized_int_node, NOP_EXPR, pointer);
	gimple_seq_add_stmt(&seq, gimple_build_assign(low, runtime_variable("mcchk_stack_low", pointer_sized_int_node, true)));
	call_if(stmt, seq, LT_EXPR, low, number, gimple_build_call(runtime_function("mcchk_miss_exit", 1), 1, number));
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

/* Replaces what the pass of the sanitizer has left in the function. */
void take_single(function *f)
{
	auto_vec<access> accesses;
	auto_vec<gimple *> entries, exits, units;
	basic_block block;
	FOR_EACH_BB_FN(block, f)
		for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
			gimple *stmt = gsi_stmt(at);
			access a;
			if (announces(stmt, a))
				accesses.safe_push(a);
			else if (gimple_call_builtin_p(stmt, BUILT_IN_TSAN_FUNC_ENTRY))
				entries.safe_push(stmt);
			else if (is_func_exit(stmt))
				exits.safe_push(stmt);
			else if (gimple_call_builtin_p(stmt, BUILT_IN_TSAN_INIT))
				units.safe_push(stmt);
		}
	for (const access &a : accesses)
		test_access(a);
	for (gimple *stmt : entries)
		remove(stmt);
	bool tested = may_hold_buffer(f);
	for (gimple *stmt : exits)
		if (tested)
			test_exit(stmt);
		else
			remove(stmt);
	for (gimple *stmt : units)
		gimple_call_set_fndecl(stmt, runtime_function("mcchk_inlined_unit", 0));
}

/* ---- the pass ---- */

const pass_data description = {
	GIMPLE_PASS, "mcchk", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, TODO_update_ssa,
};

class inlining_pass : public gimple_opt_pass {
public:
	inlining_pass() : gimple_opt_pass(description, g) {}
	opt_pass *clone() final override { return new inlining_pass; }

	unsigned execute(function *f) final override
	{
		take_unannounced(f);
		calculate_dominance_info(CDI_DOMINATORS);
		if (optimize)
			take_loops(f);
		take_single(f);
		mark_virtual_operands_for_renaming(f);
		free_dominance_info(CDI_POST_DOMINATORS);
		return 0;
	}
};

void insert_after(const char *plugin, const char *pass)
{
	register_pass_info info = {new inlining_pass, pass, 0, PASS_POS_INSERT_AFTER};
	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &info);
}

const ggc_root_tab roots[] = {{&declared, 1, sizeof declared, &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node}, LAST_GGC_ROOT_TAB};

} // namespace

int plugin_init(plugin_name_args *arguments, plugin_gcc_version *version)
{
	if (!plugin_default_version_check(version, &gcc_version))
		return 1;
	insert_after(arguments->base_name, "tsan");
	insert_after(arguments->base_name, "tsan0");
	register_callback(arguments->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL, const_cast<ggc_root_tab *>(roots));
	return 0;
}
