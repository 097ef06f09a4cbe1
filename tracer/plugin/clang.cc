/* A plug-in for clang: takes the announcements of loads and stores out of loops, and those
 * of memory that only the function knows.
 *
 * The code comes instrumented (-fsanitize=thread) and optimized, but not vectorized, and
 * linked with the tests that are to be inlined (../runtime/inline.c). In a loop that has
 * nothing in it by which another process could be ordered, an access of every iteration
 * whose address moves by the same step is announced behind the loop, all its elements at
 * once (mcchk_loop in ../runtime/callbacks.c); and behind the loop around it, where that
 * does nothing else either (mcchk_nest). The rest of the pipeline inlines what is
 * left, and vectorizes loops that have none.
 *
 * What is announced is the same to the byte, with the same source lines. gcc.cc does the
 * same for gcc.
 *
 * Compiled by the user's clang++ against LLVM's headers (../plugin.go).
 */
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace {

/* Whether the module has been through the sanitizer. */
bool is_instrumented(const Module &module) { return module.getFunction("__tsan_init") || module.getFunction("mcchk_inlined_unit"); }

const unsigned store_flag = 1; /* MCCHK_STORE of ../runtime/mcchk.h */
const unsigned touch_words = 11; /* of struct mcchk_touch */

/* Loops that have more ways out, or accesses for all of them, keep their tests: code
 * would grow by a call for each. */
const unsigned most_exits = 8;
const unsigned most_calls = 64;

/* Uses of an address that are looked at to see whether others may get to know it. (An
 * option has the sanitizer look at none: compile.go.) */
const unsigned most_uses = 200;

/* Loops that are known to go round less often keep them too: the tests cost less. */
const unsigned least_passes = 8;

/* A longer access, of more than a page, is none that is looked at here. */
const unsigned most_bytes = 4096;

/* A call of the sanitizer that announces an access. */
struct access {
	CallInst *call = nullptr;
	unsigned size = 0;
	bool store = false;

	/* Whether places of that size may have maps. */
	bool is_element() const { return size <= 16 && isPowerOf2_32(size); }

	const SCEV *start = nullptr, *step = nullptr;
	/* Of one in a loop in the loop: what the inner one makes of a start. */
	const SCEV *stride = nullptr, *count = nullptr;
	const SCEV *growth = nullptr; /* of the count, from one to the next; nothing where that is less than one */
	BasicBlock *once = nullptr; /* which each iteration of the outer one passes */
	Value *guard = nullptr;     /* the inner one is gone through if that is `sense` */
	bool sense = true;
};

/* Whether the instruction announces an access of known size, and which. */
bool announces(Instruction &i, access &a)
{
	auto *call = dyn_cast<CallInst>(&i);
	Function *callee = call ? call->getCalledFunction() : nullptr;
	StringRef name = callee ? callee->getName() : "";
	if (!name.consume_front("__tsan_"))
		return false;
	if (name == "read_range" || name == "write_range") {
		auto *size = dyn_cast<ConstantInt>(call->getArgOperand(1));
		a.call = call;
		a.store = name == "write_range";
		a.size = size ? (unsigned)size->getLimitedValue(UINT32_MAX) : 0;
		return a.size > 0 && a.size <= most_bytes;
	}
	if (call->arg_size() != 1)
		return false;
	name.consume_front("unaligned_");
	name.consume_front("volatile_");
	a.call = call;
	if (name.consume_front("read_write") || name.consume_front("write"))
		a.store = true;
	else if (name.consume_front("read"))
		a.store = false;
	else
		return false;
	return !name.getAsInteger(10, a.size) && a.size > 0 && a.size <= 16;
}

/* Whether a call is of a library function that computes numbers of numbers. */
bool is_mathematical(CallBase &call, const TargetLibraryInfo &library)
{
	LibFunc function;
	return library.getLibFunc(call, function) && call.getType()->isFloatingPointTy() &&
	       all_of(call.args(), [](Value *v) { return v->getType()->isFloatingPointTy() || v->getType()->isIntegerTy(); });
}

/* Whether nothing in the instruction orders this thread with others, and control goes on
 * behind it. */
bool is_quiet(Instruction &i, const TargetLibraryInfo &library)
{
	access a;
	if (announces(i, a) || isa<DbgInfoIntrinsic>(i))
		return true;
	if (auto *call = dyn_cast<CallBase>(&i)) {
		if (!isa<CallInst>(i) || call->isConvergent())
			return false;
		return is_mathematical(*call, library) || (call->onlyReadsMemory() && !call->mayThrow()) ||
		       (isa<IntrinsicInst>(i) && cast<IntrinsicInst>(i).isAssumeLikeIntrinsic());
	}
	return !i.isVolatile() && !i.isAtomic() && !i.mayThrow();
}

/* A loop that announces accesses behind it. */
struct announcing_loop {
	Loop *loop;
	SmallVector<Loop::Edge, 8> exits;
	const SCEV *passes = nullptr; /* of the latch, up to the exit; else they are counted */
	SmallVector<access, 16> accesses;
};

/* What `mcchk doctor` tells of a unit: places that need no test, that have one, and that
 * are announced behind a loop (section .mcchk_places, ../places.go). */
struct places {
	uint64_t without = 0, tested = 0, announced = 0;
};

class loop_pass : public PassInfoMixin<loop_pass> {
public:
	loop_pass(places &p, bool optimized) : places_counted(p), optimized(optimized) {}
	void run(Function &f, FunctionAnalysisManager &m);

private:
	places &places_counted;
	bool optimized;
	LoopInfo *loops;
	DominatorTree *tree;
	ScalarEvolution *evolution;
	TargetLibraryInfo *library;

	void learn();
	bool is_possible(announcing_loop &l);
	bool moves(const Loop *loop, const SCEV *address, access &a);
	bool is_moved(const announcing_loop &l, access &a);
	bool passes_once(const announcing_loop &l, BasicBlock *block);
	bool is_known(Value *condition, bool sense);
	bool is_guarded(const announcing_loop &l, Loop *inner, access &a);
	bool holds_where_positive(const Loop *loop, ICmpInst *test, bool sense, const SCEV *number);
	const SCEV *without_least(const SCEV *expression);
	bool grows(const announcing_loop &l, Loop *inner, bool last, access &a);
	bool is_nested(const announcing_loop &l, access &a);
	void take_nested(announcing_loop &l, SmallVectorImpl<announcing_loop> &found);
	void look(Loop *loop, SmallVectorImpl<announcing_loop> &found);
	Value *count_passes(announcing_loop &l);
	void announce(announcing_loop &l, SCEVExpander &expander);
	void free_plain();
	bool is_calm(Loop *loop);
	void find_calm(Loop *loop, SmallVectorImpl<Loop *> &found);
};

#include "clang_facts.h"

bool loop_pass::is_possible(announcing_loop &l)
{
	if (!l.loop->isLoopSimplifyForm())
		return false;
	l.loop->getExitEdges(l.exits);
	if (l.exits.empty() || l.exits.size() > most_exits)
		return false;
	SmallPtrSet<BasicBlock *, 8> sources;
	for (auto &edge : l.exits)
		if (!isa<BranchInst>(edge.first->getTerminator()) || !sources.insert(edge.first).second)
			return false;
	for (BasicBlock *block : l.loop->blocks())
		for (Instruction &i : *block)
			if (!is_quiet(i, *library))
				return false;
	return true;
}

/* Whether an access can be announced behind the loop: one made once in each iteration, at
 * addresses of one step. */
bool loop_pass::is_moved(const announcing_loop &l, access &a)
{
	BasicBlock *block = a.call->getParent();
	if (loops->getLoopFor(block) != l.loop || !tree->dominates(block, l.loop->getLoopLatch()))
		return false;
	for (auto &edge : l.exits)
		if (!tree->dominates(block, edge.first) && !tree->dominates(edge.first, block))
			return false;
	return moves(l.loop, evolution->getSCEV(a.call->getArgOperand(0)), a);
}

/* Whether an address moves by one step in each iteration of a loop. */
bool loop_pass::moves(const Loop *loop, const SCEV *address, access &a)
{
	auto *moving = dyn_cast<SCEVAddRecExpr>(address);
	if (moving && moving->getLoop() == loop && moving->isAffine()) {
		a.start = moving->getStart();
		a.step = moving->getStepRecurrence(*evolution);
	} else if (evolution->isLoopInvariant(address, loop)) {
		a.start = address;
		a.step = evolution->getZero(Type::getInt64Ty(a.call->getContext()));
	} else {
		return false;
	}
	Instruction *before = loop->getLoopPreheader()->getTerminator();
	return isSafeToExpandAt(a.start, before, *evolution) && isSafeToExpandAt(a.step, before, *evolution);
}

/* Whether each iteration passes a block, or has left the loop before. */
bool loop_pass::passes_once(const announcing_loop &l, BasicBlock *block)
{
	return tree->dominates(block, l.loop->getLoopLatch()) && all_of(l.exits, [&](const Loop::Edge &edge) {
		       return tree->dominates(block, edge.first) || tree->dominates(edge.first, block);
	       });
}

/* Whether each iteration goes through a loop in the loop, or none does, for that depends on
 * a condition that stays the same. */
bool loop_pass::is_guarded(const announcing_loop &l, Loop *inner, access &a)
{
	a.once = inner->getHeader();
	if (passes_once(l, a.once))
		return true;
	BasicBlock *front = inner->getLoopPreheader();
	a.once = front->getSinglePredecessor();
	auto *branch = a.once ? dyn_cast<BranchInst>(a.once->getTerminator()) : nullptr;
	if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1) ||
	    loops->getLoopFor(a.once) != l.loop)
		return false;
	a.sense = branch->getSuccessor(0) == front;
	a.guard = is_known(branch->getCondition(), a.sense) ? nullptr : branch->getCondition();
	return passes_once(l, a.once);
}

#include "clang_triangles.h"

/* Whether an access of a loop in the loop can be announced behind the outer one: that
 * goes through the inner one in each iteration, each time as often, or so much more or less often. */
bool loop_pass::is_nested(const announcing_loop &l, access &a)
{
	BasicBlock *block = a.call->getParent();
	Loop *inner = loops->getLoopFor(block);
	if (!inner || inner->getParentLoop() != l.loop || !inner->isLoopSimplifyForm() || !inner->getExitingBlock() ||
	    !tree->dominates(block, inner->getLoopLatch()) || !is_guarded(l, inner, a))
		return false;
	for (auto &edge : l.exits)
		if (inner->contains(edge.first))
			return false;
	BasicBlock *leaves = inner->getExitingBlock();
	bool last = tree->dominates(block, leaves);
	if (!last && !tree->dominates(leaves, block))
		return false;
	const SCEV *passes = evolution->getBackedgeTakenCount(inner);
	Type *number = Type::getInt64Ty(block->getContext());
	if (isa<SCEVCouldNotCompute>(passes) || evolution->getTypeSizeInBits(passes->getType()) > 64)
		return false;
	a.growth = evolution->getZero(number);
	if (!evolution->isLoopInvariant(passes, l.loop)) {
		if (!grows(l, inner, last, a))
			return false;
	} else {
		if (a.guard && !l.loop->isLoopInvariant(a.guard))
			return false;
		a.count = evolution->getNoopOrZeroExtend(passes, number);
	}
	if (last)
		a.count = evolution->getAddExpr(a.count, evolution->getOne(number));
	const SCEV *address = evolution->getSCEV(a.call->getArgOperand(0));
	a.stride = evolution->getZero(number);
	auto *moving = dyn_cast<SCEVAddRecExpr>(address);
	if (moving && moving->getLoop() == inner && moving->isAffine()) {
		a.stride = moving->getStepRecurrence(*evolution);
		address = moving->getStart();
	} else if (!evolution->isLoopInvariant(address, inner)) {
		return false;
	}
	Instruction *before = l.loop->getLoopPreheader()->getTerminator();
	return evolution->isLoopInvariant(a.stride, l.loop) && isSafeToExpandAt(a.stride, before, *evolution) &&
	       isSafeToExpandAt(a.count, before, *evolution) && isSafeToExpandAt(a.growth, before, *evolution) &&
	       moves(l.loop, address, a);
}

/* Has the accesses of loops in the loop announced behind it that can be. */
void loop_pass::take_nested(announcing_loop &l, SmallVectorImpl<announcing_loop> &found)
{
	for (BasicBlock *block : l.loop->blocks()) {
		if (loops->getLoopFor(block) == l.loop)
			continue;
		for (Instruction &i : *block) {
			access a;
			if (!announces(i, a) || (l.accesses.size() + 1) * l.exits.size() > most_calls || !is_nested(l, a))
				continue;
			l.accesses.push_back(a);
			for (announcing_loop &other : found)
				erase_if(other.accesses, [&](access &x) { return x.call == a.call; });
		}
	}
	erase_if(found, [](announcing_loop &other) { return other.accesses.empty(); });
}

void loop_pass::look(Loop *loop, SmallVectorImpl<announcing_loop> &found)
{
	for (Loop *inner : *loop)
		look(inner, found);
	announcing_loop l;
	l.loop = loop;
	unsigned known = evolution->getSmallConstantTripCount(loop);
	if ((known > 0 && known < least_passes) || !is_possible(l))
		return;
	for (BasicBlock *block : loop->blocks())
		for (Instruction &i : *block) {
			access a;
			if (announces(i, a) && (l.accesses.size() + 1) * l.exits.size() <= most_calls && is_moved(l, a))
				l.accesses.push_back(a);
		}
	take_nested(l, found);
	if (l.accesses.empty())
		return;
	Type *number = Type::getInt64Ty(loop->getHeader()->getContext());
	if (l.exits.size() == 1) {
		const SCEV *known = evolution->getBackedgeTakenCount(loop);
		if (!isa<SCEVCouldNotCompute>(known) && evolution->getTypeSizeInBits(known->getType()) <= 64 &&
		    isSafeToExpandAt(known, loop->getLoopPreheader()->getTerminator(), *evolution))
			l.passes = evolution->getNoopOrZeroExtend(known, number);
	}
	found.push_back(std::move(l));
}

/* Counts the iterations that the loop has completed. */
Value *loop_pass::count_passes(announcing_loop &l)
{
	BasicBlock *latch = l.loop->getLoopLatch();
	IRBuilder<> at(&l.loop->getHeader()->front());
	PHINode *count = at.CreatePHI(at.getInt64Ty(), 2, "mcchk.passes");
	count->addIncoming(at.getInt64(0), l.loop->getLoopPreheader());
	IRBuilder<> end(latch->getTerminator());
	count->addIncoming(end.CreateAdd(count, end.getInt64(1)), latch);
	return count;
}

/* The address of a struct mcchk_touch for an access of a loop; 0 where there can be no map. */
static Constant *loop_touch(Module &module, const access &a)
{
	Type *number = Type::getInt64Ty(module.getContext());
	if (!a.is_element())
		return ConstantInt::get(number, 0);
	auto *type = ArrayType::get(number, touch_words);
	auto *touch = new GlobalVariable(module, type, false, GlobalValue::InternalLinkage, ConstantAggregateZero::get(type), "mcchk.loop.touch");
	return ConstantExpr::getPtrToInt(touch, number);
}

#include "clang_bundles.h"

/* Calls mcchk_loop(start, stride, count, size | flags << 16, moment, touch) for each access on
 * each exit, or mcchk_nest(start, step, rows, stride, count, growth, …), and removes the calls in
 * the loop. */
void loop_pass::announce(announcing_loop &l, SCEVExpander &expander)
{
	Module &module = *l.loop->getHeader()->getModule();
	IRBuilder<> front(l.loop->getLoopPreheader()->getTerminator());
	Type *number = front.getInt64Ty();
	Constant *moments = module.getOrInsertGlobal("mcchk_moment", number);
	Value *moment = front.CreateLoad(number, moments, true, "mcchk.moment");
	Value *counted = l.passes ? nullptr : count_passes(l);
	FunctionCallee loop = telling(module, "mcchk_loop", 6), nest = telling(module, "mcchk_nest", 8);
	SmallPtrSet<BasicBlock *, 8> split;
	/* Splitting one edge may lead others to another block, so that each is looked up anew;
	 * and an edge that leaves inner loops too has been split for those. */
	for (;;) {
		l.exits.clear();
		l.loop->getExitEdges(l.exits);
		auto found = find_if(l.exits, [&](auto &e) { return !split.count(e.second); });
		if (found == l.exits.end())
			break;
		auto edge = *found;
		SmallVector<announcement, 16> all;
		for (const access &a : l.accesses)
			all.push_back({&a, tree->dominates(a.once ? a.once : a.call->getParent(), edge.first), nullptr, nullptr, nullptr});
		BasicBlock *exit = SplitEdge(edge.first, edge.second, tree, loops);
		split.insert(exit);
		Instruction *before = exit->getTerminator();
		IRBuilder<> at(before);
		Value *passes = counted ? counted : expander.expandCodeFor(l.passes, number, before);
		SmallVector<announcement, 16> single;
		for (announcement &n : all) {
			const access &a = *n.a;
			at.SetInsertPoint(before);
			at.SetCurrentDebugLocation(a.call->getDebugLoc());
			n.start = expander.expandCodeFor(a.start, a.start->getType(), before);
			n.step = expander.expandCodeFor(a.step, number, before);
			if (n.start->getType()->isPointerTy())
				n.start = at.CreatePtrToInt(n.start, number);
			n.count = n.last ? at.CreateAdd(passes, at.getInt64(1)) : passes;
			if (!a.count) {
				single.push_back(n);
				continue;
			}
			Value *stride = expander.expandCodeFor(a.stride, number, before);
			Value *count = expander.expandCodeFor(a.count, number, before), *growth = expander.expandCodeFor(a.growth, number, before);
			if (a.guard) {
				Value *none = at.getInt64(0);
				count = a.sense ? at.CreateSelect(a.guard, count, none) : at.CreateSelect(a.guard, none, count);
				growth = a.sense ? at.CreateSelect(a.guard, growth, none) : at.CreateSelect(a.guard, none, growth);
			}
			at.CreateCall(nest, {n.start, n.step, n.count, stride, count, growth, at.getInt64(kind_of(a)), moment});
		}
		Instruction *alone = bundle(single, passes, moment, before, tree, loops);
		for (const announcement &n : single) {
			IRBuilder<> at(alone ? alone : before);
			at.SetCurrentDebugLocation(n.a->call->getDebugLoc());
			at.CreateCall(loop, {n.start, n.step, n.count, at.getInt64(kind_of(*n.a)), moment, loop_touch(module, *n.a)});
		}
	}
	for (access &a : l.accesses)
		a.call->eraseFromParent();
	places_counted.announced += l.accesses.size();
}

/* A loop that has nothing left to announce may be unrolled, as in the plain program: until
 * here that was forbidden (compile.go), for an access should be one place. */
void loop_pass::free_plain()
{
	access a;
	for (Loop *loop : loops->getLoopsInPreorder())
		if (MDNode *id = loop->getLoopID())
			if (all_of(loop->blocks(), [&](BasicBlock *block) {
				    return all_of(*block, [&](Instruction &i) { return is_quiet(i, *library) && !announces(i, a); });
			    }))
				loop->setLoopID(makePostTransformationMetadata(id->getContext(), id, {"llvm.loop.unroll.disable"}, {}));
}

#include "clang_groups.h"
#include "clang_maps.h"
#include "clang_plain.h"

/* Whether nothing in the loop can be a call of the program's own, nor does it order this
 * thread with others. */
bool loop_pass::is_calm(Loop *loop)
{
	announcing_loop l;
	l.loop = loop;
	if (!is_possible(l))
		return false;
	for (BasicBlock *block : loop->blocks())
		for (Instruction &i : *block) {
			access a;
			auto *call = dyn_cast<CallBase>(&i);
			if (call && !announces(i, a) && !isa<IntrinsicInst>(i) && !is_mathematical(*call, *library))
				return false;
		}
	return true;
}

/* Such loops that are in no other. */
void loop_pass::find_calm(Loop *loop, SmallVectorImpl<Loop *> &found)
{
	unsigned known = evolution->getSmallConstantTripCount(loop);
	if (is_calm(loop) && (known == 0 || known >= least_passes)) {
		found.push_back(loop);
		return;
	}
	for (Loop *inner : *loop)
		find_calm(inner, found);
}

#include "clang_private.h"

uint64_t count_announcing(Function &f)
{
	uint64_t n = 0;
	for (Instruction &i : instructions(f)) {
		access a;
		n += announces(i, a);
	}
	return n;
}

#include "clang_copies.h"
#include "clang_prepare.h"

void loop_pass::run(Function &f, FunctionAnalysisManager &m)
{
	library = &m.getResult<TargetLibraryAnalysis>(f);
	know_mathematics(f, *library);
	drop_private(f, places_counted);
	leave_exits_out(f);
	uint64_t mapped = 0, announced = places_counted.announced;
	if (optimized) {
		join_sums(f, m.getResult<DominatorTreeAnalysis>(f));
		hoist(f, m);
	} else {
		name_values(f, m);
	}
	loops = &m.getResult<LoopAnalysis>(f);
	tree = &m.getResult<DominatorTreeAnalysis>(f);
	evolution = &m.getResult<ScalarEvolutionAnalysis>(f);
	auto &assumptions = m.getResult<AssumptionAnalysis>(f);
	ReversePostOrderTraversal<Function *> blocks(&f);
	if (!loops->empty() && !containsIrreducibleCFG<BasicBlock *>(blocks, *loops)) {
		for (Loop *loop : *loops)
			simplifyLoop(loop, tree, loops, evolution, &assumptions, nullptr, false);
		learn();
		SmallVector<announcing_loop, 16> found;
		SmallVector<Loop *, 8> calm;
		for (Loop *loop : *loops) {
			look(loop, found);
			find_calm(loop, calm);
		}
		SCEVExpander expander(*evolution, f.getParent()->getDataLayout(), "mcchk");
		for (announcing_loop &l : found)
			announce(l, expander);
		free_plain();
		map_writer maps(f);
		SmallVector<SmallVector<reach, 4>, 8> reaches;
		for (Loop *loop : calm)
			reaches.push_back(reaches_of(*loop, *evolution));
		for (size_t i = 0; i < calm.size(); i++) {
			if (!reaches[i].empty())
				plain_copy(*calm[i], reaches[i], *tree, *loops).write();
			maps.take(*calm[i], *tree, *loops, *library);
		}
		mapped = maps.write();
	}
	uint64_t tested = count_announcing(f);
	if (tested + mapped == 0 && places_counted.announced == announced)
		leave_entries_out(f);
	places_counted.tested += tested + mapped;
	test_groups(f, *library);
}

/* All that is done to a module that the sanitizer has been at. */
class module_pass : public PassInfoMixin<module_pass> {
public:
	explicit module_pass(bool optimized) : optimized(optimized) {}
	static bool isRequired() { return true; }

	PreservedAnalyses run(Module &module, ModuleAnalysisManager &m)
	{
		if (!is_instrumented(module))
			return PreservedAnalyses::all();
		auto &functions = m.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
		places counted;
		for (Function &f : module)
			if (!f.isDeclaration() && !f.hasOptNone() && !f.getName().startswith("__tsan_")) {
				loop_pass(counted, optimized).run(f, functions);
				functions.invalidate(f, PreservedAnalyses::none());
			}
		if (counted.without + counted.tested + counted.announced > 0)
			module.appendModuleInlineAsm((Twine(".pushsection .mcchk_places,\"\",@progbits\n.quad ") + Twine(counted.without) + ", " +
						      Twine(counted.tested) + ", " + Twine(counted.announced) + "\n.popsection")
							     .str());
		return PreservedAnalyses::none();
	}

private:
	bool optimized;
};

#include "clang_silent.h"
#include "clang_sections.h"

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo()
{
	return {LLVM_PLUGIN_API_VERSION, "mcchk", "1", [](PassBuilder &builder) {
			builder.registerPipelineStartEPCallback([](ModulePassManager &m, OptimizationLevel level) {
				bool optimized = level != OptimizationLevel::O0;
				m.addPass(sections_pass());
				if (optimized)
					m.addPass(silent_pass());
				m.addPass(module_pass(optimized));
			});
			builder.registerOptimizerLastEPCallback([](ModulePassManager &m, OptimizationLevel level) {
				m.addPass(copy_pass(level != OptimizationLevel::O0));
			});
		}};
}
