/* A part of clang.cc: loops of which all that is left lies in a few bytes, as members of an
 * object do. There is a copy of each, without tests: it is gone through where the run-time says
 * in front of it that none of these bytes matters. */

/* Bytes from an address on that stays the same in a loop. */
struct reach {
	Value *base;
	int64_t lo, hi;
};

const size_t most_reaches = 4;
const int64_t most_reached = 4096; /* bytes of each */
const size_t most_copied = 1000;   /* instructions */

/* Adds where an access may lie; false: that is not known, or far from the others. */
bool add_reach(SmallVectorImpl<reach> &all, const access &a, const Loop &loop, ScalarEvolution &evolution)
{
	const SCEV *address = evolution.getSCEV(a.call->getArgOperand(0));
	auto *base = dyn_cast<SCEVUnknown>(evolution.getPointerBase(address));
	if (!base || !loop.isLoopInvariant(base->getValue()))
		return false;
	const SCEV *offset = evolution.getMinusSCEV(address, base);
	if (isa<SCEVCouldNotCompute>(offset))
		return false;
	ConstantRange range = evolution.getSignedRange(offset);
	if (range.getSignedMin().getMinSignedBits() > 32 || range.getSignedMax().getMinSignedBits() > 32)
		return false;
	int64_t lo = range.getSignedMin().getSExtValue(), hi = range.getSignedMax().getSExtValue() + (int64_t)a.size;
	auto same = find_if(all, [&](const reach &r) { return r.base == base->getValue(); });
	if (same != all.end()) {
		same->lo = std::min(same->lo, lo);
		same->hi = std::max(same->hi, hi);
		return same->hi - same->lo <= most_reached;
	}
	all.push_back({base->getValue(), lo, hi});
	return hi - lo <= most_reached && all.size() <= most_reaches;
}

/* Where all that is left in a loop lies; nothing: that is not known, or the loop is not copied. */
SmallVector<reach, 4> reaches_of(Loop &loop, ScalarEvolution &evolution)
{
	SmallVector<reach, 4> all;
	size_t size = 0;
	if (!loop.isLoopSimplifyForm() || !loop.isSafeToClone())
		return {};
	for (BasicBlock *block : loop.blocks())
		for (Instruction &i : *block) {
			access a;
			auto *call = dyn_cast<CallBase>(&i);
			size++;
			if ((call && (call->cannotDuplicate() || call->isConvergent())) || (announces(i, a) && !add_reach(all, a, loop, evolution)))
				return {};
		}
	return size <= most_copied ? all : SmallVector<reach, 4>{};
}

/* The copy of a loop, in front of which it is decided between the two. */
class plain_copy {
public:
	plain_copy(Loop &loop, ArrayRef<reach> reaches, DominatorTree &tree, LoopInfo &loops)
		: loop(loop), reaches(reaches), tree(tree), loops(loops), module(*loop.getHeader()->getModule()) {}
	void write();

private:
	Loop &loop;
	ArrayRef<reach> reaches;
	DominatorTree &tree;
	LoopInfo &loops;
	Module &module;
	ValueToValueMapTy copies;

	Value *load_moment(IRBuilder<> &at)
	{
		return at.CreateLoad(at.getInt64Ty(), module.getOrInsertGlobal("mcchk_moment", at.getInt64Ty()), true, "mcchk.moment");
	}
	Value *nothing_matters(IRBuilder<> &at);
	Loop *copy(BasicBlock *front);
	void write_ends(Loop &plain, Value *moment);
};

Value *plain_copy::nothing_matters(IRBuilder<> &at)
{
	Value *all = nullptr;
	for (const reach &r : reaches) {
		FunctionCallee look = module.getOrInsertFunction("mcchk_loop_is_plain", at.getInt64Ty(), at.getInt64Ty(), at.getInt64Ty());
		cast<Function>(look.getCallee())->setDoesNotThrow();
		Value *lo = at.CreateAdd(at.CreatePtrToInt(r.base, at.getInt64Ty()), at.getInt64(r.lo));
		Value *plain = at.CreateCall(look, {lo, at.getInt64(r.hi - r.lo)});
		all = all ? at.CreateAnd(all, plain) : plain;
	}
	return at.CreateICmpNE(all, at.getInt64(0));
}

Loop *plain_copy::copy(BasicBlock *front)
{
	SmallVector<BasicBlock *, 16> blocks;
	SmallVector<BasicBlock *, 8> exits;
	Loop *plain = cloneLoopWithPreheader(loop.getLoopPreheader(), front, &loop, copies, ".plain", &loops, &tree, blocks);
	remapInstructionsInBlocks(blocks, copies);
	loop.getUniqueExitBlocks(exits);
	for (BasicBlock *exit : exits)
		for (PHINode &phi : exit->phis())
			for (unsigned i = 0, n = phi.getNumIncomingValues(); i < n; i++) {
				Value *value = phi.getIncomingValue(i), *copied = copies.lookup(value);
				phi.addIncoming(copied ? copied : value, cast<BasicBlock>(copies[phi.getIncomingBlock(i)]));
			}
	for (BasicBlock *block : blocks)
		for (Instruction &i : make_early_inc_range(*block)) {
			access a;
			if (announces(i, a))
				i.eraseFromParent();
		}
	for (Loop *l : plain->getLoopsInPreorder()) /* as in free_plain */
		if (MDNode *id = l->getLoopID())
			l->setLoopID(makePostTransformationMetadata(id->getContext(), id, {"llvm.loop.unroll.disable"}, {}));
	return plain;
}

/* Behind the copy: whether other threads made calls meanwhile. */
void plain_copy::write_ends(Loop &plain, Value *moment)
{
	SmallVector<Loop::Edge, 8> edges;
	plain.getExitEdges(edges);
	for (auto &edge : edges) {
		BasicBlock *end = SplitEdge(edge.first, edge.second, &tree, &loops);
		IRBuilder<> at(end->getTerminator());
		Value *later = at.CreateICmpNE(load_moment(at), moment);
		MDNode *hardly_ever = MDBuilder(module.getContext()).createBranchWeights(1, 1000);
		at.SetInsertPoint(SplitBlockAndInsertIfThen(later, end->getTerminator(), false, hardly_ever, &tree, &loops));
		FunctionCallee callee = module.getOrInsertFunction("mcchk_plain_loop_ends", at.getVoidTy(), at.getInt64Ty());
		cast<Function>(callee.getCallee())->setDoesNotThrow();
		at.CreateCall(callee, {at.getInt64(1)});
	}
}

void plain_copy::write()
{
	formLCSSARecursively(loop, tree, &loops, nullptr);
	BasicBlock *front = loop.getLoopPreheader();
	SplitBlock(front, front->getTerminator(), &tree, &loops); /* the loop's own from now on */
	Loop *plain = copy(front);
	IRBuilder<> at(front->getTerminator());
	Value *moment = load_moment(at);
	at.CreateCondBr(nothing_matters(at), plain->getLoopPreheader(), loop.getLoopPreheader());
	front->getTerminator()->eraseFromParent();
	tree.recalculate(*front->getParent());
	write_ends(*plain, moment);
}
