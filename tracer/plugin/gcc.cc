/* A plug-in for gcc, g++ and gfortran: makes what -fsanitize=thread announces cheap.
 *
 * The pass of the sanitizer puts a call before every load and store that others may
 * see. This one comes right after it, where loops are not vectorized yet, and
 *
 * - takes the calls of a loop that has nothing in it by which another process could be
 *   ordered: an access of every iteration whose address moves by the same step is
 *   announced behind the loop, all its elements at once (mcchk_loop in
 *   ../runtime/callbacks.c); and behind the loop around it, where that does nothing else
 *   either (mcchk_nest);
 * - puts the test whether the page matters (one byte of the shadow) in place of the calls
 *   that are left, and the call behind it. Between the two a place that goes from one
 *   address to any other may set a byte in a map (../runtime/touches.c). There are none for
 *   memory that only the function knows.
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
#include "options.h"
#include "opts.h"
#include "fold-const.h"
#include "gimple-iterator.h"
#include "gimple-walk.h"
#include "gimplify-me.h"
#include "gimplify.h"
#include "ssa-iterators.h"
#include "tree-cfg.h"
#include "tree-chrec.h"
#include "tree-eh.h"
#include "tree-into-ssa.h"
#include "tree-scalar-evolution.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-ivopts.h"
#include "tree-ssa-loop-manip.h"
#include "tree-ssa-loop-niter.h"
#include "varasm.h"
#include "output.h"

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
	char spec[] = ".c. . . . . . . ";
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
	void take_nested();
	void take_accesses();

private:
	class loop *loop;
	auto_vec<edge> exits;
	tree passes = NULL_TREE; /* of the latch, up to an exit */
	tree moment = NULL_TREE;
	unsigned taken = 0;

	bool take(const access &a);
	bool take_nested(const access &a);
	bool is_short() const;
	bool has_room() const { return (taken + 1) * exits.length() <= most_calls; }
	bool made_before(basic_block block, edge exit) const { return dominated_by_p(CDI_DOMINATORS, exit->src, block); }
	bool passes_once(basic_block block) const;
	basic_block guard_of(class loop *inner, tree &condition) const;
	void begin();
	void announce(const access &a, basic_block made, tree start, tree step, tree stride, tree count);
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
 * at addresses of one step. */
bool announcing_loop::take(const access &a)
{
	basic_block block = gimple_bb(a.call);
	affine_iv address;
	if (block->loop_father != loop || !has_room() || !passes_once(block) || !simple_iv(loop, loop, a.address, &address, true))
		return false;
	announce(a, block, address.base, address.step, NULL_TREE, NULL_TREE);
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

/* The same for an access of a loop in the loop: one that each iteration goes through, each
 * time as often. */
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
	tree often = number_of_latch_executions(inner);
	if (often == chrec_dont_know || !expr_invariant_in_loop_p(loop, often))
		return false;
	tree condition;
	basic_block once = guard_of(inner, condition);
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
	tree count = fold_convert(pointer_sized_int_node, often);
	if (last)
		count = fold_build2(PLUS_EXPR, pointer_sized_int_node, count, build_one_cst(pointer_sized_int_node));
	if (condition)
		count = build3(COND_EXPR, pointer_sized_int_node, condition, count, build_zero_cst(pointer_sized_int_node));
	announce(a, once, start, step, stride, count);
	return true;
}

/* mcchk_loop(start, step, passes, size | flags << 16, moment) on each exit, for an access
 * that is made once the block `made` is passed; or mcchk_nest(start, step, passes, stride,
 * count, …). Removes the call in the loop. */
void announcing_loop::announce(const access &a, basic_block made, tree start, tree step, tree stride, tree count)
{
	tree kind = build_int_cst(pointer_sized_int_node, a.size | (a.store ? store_flag << 16 : 0));
	begin();
	for (edge exit : exits) {
		gimple_seq seq = NULL;
		tree from = as_number(&seq, start), by = as_number(&seq, step), rows = passes;
		if (made_before(made, exit))
			rows = fold_build2(PLUS_EXPR, pointer_sized_int_node, rows, build_one_cst(pointer_sized_int_node));
		rows = as_number(&seq, rows);
		gcall *call;
		if (count) {
			tree along = as_number(&seq, stride), times = as_number(&seq, count);
			call = gimple_build_call(runtime_function("mcchk_nest", 7), 7, from, by, rows, along, times, kind, moment);
		} else {
			call = gimple_build_call(runtime_function("mcchk_loop", 5), 5, from, by, rows, kind, moment);
		}
		gimple_seq_add_stmt(&seq, call);
		annotate_all_with_location(seq, line_of(a.call));
		gsi_insert_seq_on_edge(exit, seq);
	}
	remove(a.call);
	taken++;
	places_announced++;
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
		for (announcing_loop *loop : possible)
			loop->take_accesses();
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
	places_tested += accesses.length();
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
	if (is_gimple_debug(stmt) || gimple_call_internal_p(stmt, IFN_TSAN_FUNC_EXIT))
		return true;
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
		if (optimize) {
			drop_private(f);
			take_loops(f);
		}
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
	register_callback(arguments->base_name, PLUGIN_ALL_IPA_PASSES_START, find_silent, NULL);
	register_callback(arguments->base_name, PLUGIN_FINISH_UNIT, write_places, NULL);
	register_callback(arguments->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL, const_cast<ggc_root_tab *>(roots));
	return 0;
}
