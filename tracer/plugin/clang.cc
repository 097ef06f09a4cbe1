/* A plug-in for clang: takes the announcements of loads and stores out of loops.
 *
 * The code comes instrumented (-fsanitize=thread) and optimized, but not vectorized, and
 * linked with the tests that are to be inlined (../runtime/inline.c). In a loop that has
 * nothing in it by which another process could be ordered, an access of every iteration
 * whose address moves by the same step is announced behind the loop, all its elements at
 * once (mcchk_loop in ../runtime/callbacks.c). The rest of the pipeline inlines what is
 * left, and vectorizes loops that have none.
 *
 * What is announced is the same to the byte, with the same source lines. gcc.cc does the
 * same for gcc.
 *
 * Compiled by the user's clang++ against LLVM's headers (../plugin.go).
 */
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace {

const unsigned store_flag = 1; /* MCCHK_STORE of ../runtime/mcchk.h */

/* Loops that have more ways out, or accesses for all of them, keep their tests: code
 * would grow by a call for each. */
const unsigned most_exits = 8;
const unsigned most_calls = 64;

/* Loops that are known to go round less often keep them too: the tests cost less. */
const unsigned least_passes = 8;

/* A call of the sanitizer that announces an access. */
struct access {
	CallInst *call = nullptr;
	unsigned size = 0;
	bool store = false;
	const SCEV *start = nullptr, *step = nullptr;
};

/* Whether the instruction announces an access of known size, and which. */
bool announces(Instruction &i, access &a)
{
	auto *call = dyn_cast<CallInst>(&i);
	Function *callee = call ? call->getCalledFunction() : nullptr;
	StringRef name = callee ? callee->getName() : "";
	if (!name.consume_front("__tsan_") || call->arg_size() != 1)
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

class loop_pass : public PassInfoMixin<loop_pass> {
public:
	PreservedAnalyses run(Function &f, FunctionAnalysisManager &m);

private:
	LoopInfo *loops;
	DominatorTree *tree;
	ScalarEvolution *evolution;
	TargetLibraryInfo *library;

	bool is_possible(announcing_loop &l);
	bool is_moved(const announcing_loop &l, access &a);
	void look(Loop *loop, SmallVectorImpl<announcing_loop> &found);
	Value *count_passes(announcing_loop &l);
	void announce(announcing_loop &l, SCEVExpander &expander);
};

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
	const SCEV *address = evolution->getSCEV(a.call->getArgOperand(0));
	auto *moving = dyn_cast<SCEVAddRecExpr>(address);
	if (moving && moving->getLoop() == l.loop && moving->isAffine()) {
		a.start = moving->getStart();
		a.step = moving->getStepRecurrence(*evolution);
	} else if (evolution->isLoopInvariant(address, l.loop)) {
		a.start = address;
		a.step = evolution->getZero(Type::getInt64Ty(a.call->getContext()));
	} else {
		return false;
	}
	Instruction *before = l.loop->getLoopPreheader()->getTerminator();
	return isSafeToExpandAt(a.start, before, *evolution) && isSafeToExpandAt(a.step, before, *evolution);
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

/* Calls mcchk_loop(start, stride, count, size | flags << 16, moment) for each access on
 * each exit, and removes the calls in the loop. */
void loop_pass::announce(announcing_loop &l, SCEVExpander &expander)
{
	Module &module = *l.loop->getHeader()->getModule();
	IRBuilder<> front(l.loop->getLoopPreheader()->getTerminator());
	Type *number = front.getInt64Ty();
	Constant *moments = module.getOrInsertGlobal("mcchk_moment", number);
	Value *moment = front.CreateLoad(number, moments, true, "mcchk.moment");
	Value *counted = l.passes ? nullptr : count_passes(l);
	FunctionCallee loop = module.getOrInsertFunction("mcchk_loop", front.getVoidTy(), number, number, number, number, number);
	auto *callee = cast<Function>(loop.getCallee());
	callee->setDoesNotThrow();
	callee->setOnlyAccessesInaccessibleMemory();
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
		SmallVector<bool, 16> last; /* made in the last iteration, before the loop is left there */
		for (access &a : l.accesses)
			last.push_back(tree->dominates(a.call->getParent(), edge.first));
		BasicBlock *exit = SplitEdge(edge.first, edge.second, tree, loops);
		split.insert(exit);
		Instruction *before = exit->getTerminator();
		IRBuilder<> at(before);
		for (size_t i = 0; i < l.accesses.size(); i++) {
			access &a = l.accesses[i];
			at.SetInsertPoint(before);
			at.SetCurrentDebugLocation(a.call->getDebugLoc());
			Value *start = expander.expandCodeFor(a.start, a.start->getType(), before);
			Value *step = expander.expandCodeFor(a.step, number, before);
			Value *passes = counted ? counted : expander.expandCodeFor(l.passes, number, before);
			if (start->getType()->isPointerTy())
				start = at.CreatePtrToInt(start, number);
			if (last[i])
				passes = at.CreateAdd(passes, at.getInt64(1));
			at.CreateCall(loop, {start, step, passes, at.getInt64(a.size | (a.store ? store_flag << 16 : 0)), moment});
		}
	}
	for (access &a : l.accesses)
		a.call->eraseFromParent();
}

/* A function in whose frame no buffer can lie, for nothing in it has an address, need not
 * say that it returns. */
void leave_exits_out(Function &f)
{
	for (Argument &a : f.args())
		if (a.hasByValAttr())
			return;
	SmallVector<CallInst *, 4> exits;
	for (Instruction &i : instructions(f)) {
		if (isa<AllocaInst>(i))
			return;
		auto *call = dyn_cast<CallInst>(&i);
		Function *callee = call ? call->getCalledFunction() : nullptr;
		if (callee && callee->getName() == "__tsan_func_exit")
			exits.push_back(call);
	}
	for (CallInst *call : exits)
		call->eraseFromParent();
}

PreservedAnalyses loop_pass::run(Function &f, FunctionAnalysisManager &m)
{
	if (f.isDeclaration() || f.hasOptNone())
		return PreservedAnalyses::all();
	leave_exits_out(f);
	loops = &m.getResult<LoopAnalysis>(f);
	tree = &m.getResult<DominatorTreeAnalysis>(f);
	evolution = &m.getResult<ScalarEvolutionAnalysis>(f);
	library = &m.getResult<TargetLibraryAnalysis>(f);
	auto &assumptions = m.getResult<AssumptionAnalysis>(f);
	ReversePostOrderTraversal<Function *> blocks(&f);
	if (loops->empty() || containsIrreducibleCFG<BasicBlock *>(blocks, *loops))
		return PreservedAnalyses::none();
	for (Loop *loop : *loops)
		simplifyLoop(loop, tree, loops, evolution, &assumptions, nullptr, false);
	SmallVector<announcing_loop, 16> found;
	for (Loop *loop : *loops)
		look(loop, found);
	SCEVExpander expander(*evolution, f.getParent()->getDataLayout(), "mcchk");
	for (announcing_loop &l : found)
		announce(l, expander);
	return PreservedAnalyses::none();
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo()
{
	return {LLVM_PLUGIN_API_VERSION, "mcchk", "1", [](PassBuilder &builder) {
			builder.registerPipelineStartEPCallback([](ModulePassManager &m, OptimizationLevel level) {
				if (level != OptimizationLevel::O0)
					m.addPass(createModuleToFunctionPassAdaptor(loop_pass()));
			});
		}};
}
