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
 *   address to any other may set a byte in a map (../runtime/touches.c), unless there are
 *   too many of them. There are none for memory that only the function knows.
 *
 * What is announced of loops is the same to the byte, with the same source lines.
 *
 * Before that, it announces what the sanitizer leaves out: structures that calls take by
 * value or return. Copies and fills by builtins, which the compiler would
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
#include "tree-affine.h"
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
#include "langhooks.h"
#include "output.h"

int plugin_is_GPL_compatible;

namespace {

#include "gcc_lines.h"
#include "gcc_runtime.h"
#include "gcc_unannounced.h"
#include "gcc_conditional.h"
#include "gcc_loops.h"
#include "gcc_groups.h"
#include "gcc_maps.h"
#include "gcc_tests.h"
#include "gcc_silent.h"

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
		begin_function(f);
		calculate_dominance_info(CDI_DOMINATORS);
		auto announced = places_announced;
		drop_private(f);
		take_loops(f);
		take_single(f, places_announced > announced);
		mark_virtual_operands_for_renaming(f);
		free_dominance_info(CDI_POST_DOMINATORS);
		return 0;
	}
};

const pass_data holding_description = {
	GIMPLE_PASS, "mcchkhold", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, 0,
};
const pass_data releasing_description = {
	GIMPLE_PASS, "mcchkrelease", OPTGROUP_NONE, TV_NONE, PROP_ssa | PROP_cfg, 0, 0, 0, 0,
};

/* What is done to the loads of a function that is to be instrumented. */
class loads_pass : public gimple_opt_pass {
public:
	loads_pass(const pass_data &data, void (*act)(function *)) : gimple_opt_pass(data, g), act(act) {}
	opt_pass *clone() final override { return new loads_pass(*this, act); }
	bool gate(function *) final override { return sanitize_flags_p(SANITIZE_THREAD); }

	unsigned execute(function *f) final override
	{
		act(f);
		return 0;
	}

private:
	void (*act)(function *);
};

void insert(const char *plugin, opt_pass *inserted, pass_positioning_ops where, const char *pass)
{
	register_pass_info info = {inserted, pass, 0, where};
	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &info);
}

const ggc_root_tab roots[] = {{&declared, 1, sizeof declared, &gt_ggc_mx_tree_node, &gt_pch_nx_tree_node}, LAST_GGC_ROOT_TAB};

} // namespace

int plugin_init(plugin_name_args *arguments, plugin_gcc_version *version)
{
	if (!plugin_default_version_check(version, &gcc_version))
		return 1;
	give_lines();
	insert(arguments->base_name, new loads_pass(holding_description, hold_conditional), PASS_POS_INSERT_AFTER, "laddress"); /* "lim" comes between */
	insert(arguments->base_name, new loads_pass(releasing_description, release_conditional), PASS_POS_INSERT_BEFORE, "pre");
	insert(arguments->base_name, new inlining_pass, PASS_POS_INSERT_AFTER, "tsan");
	insert(arguments->base_name, new inlining_pass, PASS_POS_INSERT_AFTER, "tsan0");
	register_callback(arguments->base_name, PLUGIN_ALL_IPA_PASSES_START, find_silent, NULL);
	register_callback(arguments->base_name, PLUGIN_FINISH_UNIT, write_places, NULL);
	register_callback(arguments->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL, const_cast<ggc_root_tab *>(roots));
	return 0;
}
