/* A part of clang.cc: accesses of one block that lie at known distances from one another, as
 * members of an object do. Nothing comes between them, so that all are made if one is: one
 * test is enough for all. */

/* An address as base + index * scale + offset; no index: base + offset. */
struct place {
	Value *base = nullptr, *index = nullptr;
	unsigned cast = 0; /* by which the index becomes as wide as an address: SExt or ZExt; 0: it is */
	uint64_t scale = 0;
	int64_t offset = 0;

	bool is_beside(const place &other) const
	{
		return base == other.base && index == other.index && cast == other.cast && scale == other.scale;
	}
};

/* Takes what is added to an index out of it: it does not wrap, or there was no such address. */
void take_sums(place &p, const DataLayout &layout)
{
	if (isa<SExtInst>(p.index) || isa<ZExtInst>(p.index)) {
		p.cast = cast<CastInst>(p.index)->getOpcode();
		p.index = cast<CastInst>(p.index)->getOperand(0);
	}
	for (;;) {
		auto *sum = dyn_cast<BinaryOperator>(p.index);
		auto *more = sum ? dyn_cast<ConstantInt>(sum->getOperand(1)) : nullptr;
		if (!more || more->getBitWidth() > 64 || more->getValue().getMinSignedBits() > 31 || p.scale >= 1u << 16)
			return;
		bool add = sum->getOpcode() == Instruction::Add &&
			   (p.cast == 0 || (p.cast == Instruction::SExt ? sum->hasNoSignedWrap() : sum->hasNoUnsignedWrap() && !more->isNegative()));
		bool join = sum->getOpcode() == Instruction::Or && !more->isNegative() && haveNoCommonBitsSet(sum->getOperand(0), more, layout);
		if (!add && !join)
			return;
		p.offset += more->getSExtValue() * (int64_t)p.scale;
		p.index = sum->getOperand(0);
	}
}

place place_of(Value *address, const DataLayout &layout)
{
	place p;
	unsigned bits = layout.getIndexTypeSizeInBits(address->getType());
	for (;;) {
		address = address->stripPointerCasts();
		auto *step = dyn_cast<GEPOperator>(address);
		MapVector<Value *, APInt> variable;
		APInt constant(bits, 0);
		if (!step || !step->getType()->isPointerTy() || !step->collectOffset(layout, bits, variable, constant) || variable.size() > 1 ||
		    constant.getMinSignedBits() > 40 || (variable.size() == 1 && p.index))
			break;
		p.offset += constant.getSExtValue();
		if (variable.size() == 1) {
			p.index = variable.front().first;
			p.scale = variable.front().second.getZExtValue();
		}
		address = step->getPointerOperand();
	}
	p.base = address;
	if (p.index)
		take_sums(p, layout);
	return p;
}

/* Accesses that need one test: of the first address, which is known where the first of them
 * is announced, and of what lies beside it. */
struct group {
	place first;
	SmallVector<access, 4> members;
	SmallVector<int64_t, 4> offsets; /* from the first */

	int64_t lowest() const { return *std::min_element(offsets.begin(), offsets.end()); }
	/* An element is looked up by its first byte, others whole. */
	int64_t highest() const
	{
		int64_t highest = offsets.front();
		for (size_t i = 0; i < members.size(); i++)
			highest = std::max(highest, offsets[i] + (members[i].is_element() ? 0 : (int64_t)members[i].size - 1));
		return highest;
	}
	CallInst *call() const { return members.front().call; }
};

/* No group is larger; one that is mapped is less than a page. */
const size_t most_members = 24;
const unsigned most_distance = 512;

/* Whether control goes on behind an instruction, with nothing done that has to do with
 * announcements. */
bool goes_on(Instruction &i, const TargetLibraryInfo &library)
{
	access a;
	auto *call = dyn_cast<CallBase>(&i);
	return is_quiet(i, library) && (!call || announces(i, a) || isa<IntrinsicInst>(i) || is_mathematical(*call, library));
}

/* The groups of a block; those of single accesses, too. `mapped`: for places with maps, whose
 * elements all members share (struct mcchk_member of ../runtime/mcchk.h). */
SmallVector<group, 8> find_groups(BasicBlock &block, const TargetLibraryInfo &library, bool mapped)
{
	const DataLayout &layout = block.getModule()->getDataLayout();
	SmallVector<group, 8> all;
	size_t open = 0; /* the first that may go on */
	for (Instruction &i : block) {
		access a;
		if (!goes_on(i, library))
			open = all.size();
		if (!announces(i, a) || (mapped && !a.is_element()))
			continue;
		place p = place_of(a.call->getArgOperand(0), layout);
		auto found = std::find_if(all.begin() + open, all.end(), [&](const group &g) {
			int64_t distance = p.offset - g.first.offset;
			return p.is_beside(g.first) && std::abs(distance) < most_distance && g.members.size() < most_members &&
			       std::max(a.size, g.members.front().size) < most_distance &&
			       (!mapped || (a.size <= g.members.front().size && distance % (int64_t)a.size == 0));
		});
		if (found == all.end()) {
			all.push_back({p, {a}, {0}});
			continue;
		}
		found->members.push_back(a);
		found->offsets.push_back(p.offset - found->first.offset);
	}
	return all;
}

/* Where a function outside of its loops, or a loop, has more tests than that, the code itself
 * asks only for the page of an access: compilation would take several times as long, and what
 * does so much in one pass spends its time elsewhere. */
const unsigned most_whole = 24;

/* The tests that the loops of a function have, with those in inner ones. */
class test_count {
public:
	explicit test_count(Function &f) : tree(f), loops(tree)
	{
		for (Instruction &i : instructions(f)) {
			access a;
			if (!announces(i, a))
				continue;
			all++;
			for (Loop *loop = loops.getLoopFor(i.getParent()); loop; loop = loop->getParentLoop())
				in[loop]++;
		}
	}
	/* Whether the code itself asks only for the pages of a group. */
	bool is_short(const group &g) const
	{
		Loop *loop = loops.getLoopFor(g.call()->getParent());
		return (loop ? in.lookup(loop) : all) > most_whole;
	}

private:
	DominatorTree tree;
	LoopInfo loops;
	unsigned all = 0;
	DenseMap<Loop *, unsigned> in;
};

/* What asks for the bytes of the shadow, and calls the run-time. */
class test_writer {
public:
	explicit test_writer(Module &m) : module(m) {}
	Type *number() { return Type::getInt64Ty(module.getContext()); }
	MDNode *hardly_ever() { return MDBuilder(module.getContext()).createBranchWeights(1, 1000); }
	Value *shadow_byte(IRBuilder<> &at, Value *address);
	Value *shadow_of(IRBuilder<> &at, const group &g, Value *first);
	void test(const group &g, bool is_short);
	void call_slow(Instruction *before, const access &a, StringRef name, ArrayRef<Value *> arguments);

private:
	Module &module;
};

/* The byte of the page of an address: MCCHK_SHADOW of ../runtime/mcchk.h. */
Value *test_writer::shadow_byte(IRBuilder<> &at, Value *address)
{
	const uint64_t shadow = 0x100000000000ull;
	const unsigned page_shift = 12;
	Value *where = at.CreateAdd(at.CreateLShr(address, page_shift), at.getInt64(shadow));
	return at.CreateLoad(at.getInt8Ty(), at.CreateIntToPtr(where, at.getInt8PtrTy()), true);
}

/* Not 0 if one of the pages of a group has something that matters. */
Value *test_writer::shadow_of(IRBuilder<> &at, const group &g, Value *first)
{
	auto byte = [&](int64_t offset) { return shadow_byte(at, offset ? at.CreateAdd(first, at.getInt64(offset)) : first); };
	Value *value = byte(g.lowest());
	return g.lowest() == g.highest() ? value : at.CreateOr(value, byte(g.highest()));
}

/* Calls a function of the run-time that leaves the caller its registers. */
void test_writer::call_slow(Instruction *before, const access &a, StringRef name, ArrayRef<Value *> arguments)
{
	IRBuilder<> at(before);
	at.SetCurrentDebugLocation(a.call->getDebugLoc());
	SmallVector<Type *, 4> types(arguments.size(), number());
	FunctionCallee callee = module.getOrInsertFunction(name, FunctionType::get(at.getVoidTy(), types, false));
	auto *function = cast<Function>(callee.getCallee());
	function->setCallingConv(CallingConv::PreserveMost);
	function->setDoesNotThrow();
	function->setOnlyAccessesInaccessibleMemory();
	at.CreateCall(callee, arguments)->setCallingConv(CallingConv::PreserveMost);
}

/* Puts a test in front of several calls; each has its own behind that, or tells the run-time
 * of an access wherever its page matters. */
void test_writer::test(const group &g, bool is_short)
{
	IRBuilder<> at(g.call());
	at.SetCurrentDebugLocation(g.call()->getDebugLoc());
	Value *pointer = g.call()->getArgOperand(0), *first = at.CreatePtrToInt(pointer, number());
	Value *some = at.CreateICmpNE(shadow_of(at, g, first), at.getInt8(0));
	Instruction *then = SplitBlockAndInsertIfThen(some, g.call(), false, hardly_ever());
	at.SetInsertPoint(then);
	for (size_t i = 0; i < g.members.size(); i++) {
		const access &a = g.members[i];
		at.SetInsertPoint(then);
		at.SetCurrentDebugLocation(a.call->getDebugLoc());
		Value *number = at.CreateAdd(first, at.getInt64(g.offsets[i]));
		if (is_short && a.is_element()) {
			call_slow(then, a, (Twine("mcchk_slow_page_") + (a.store ? "write" : "read") + Twine(a.size)).str(), {number});
			a.call->eraseFromParent();
			continue;
		}
		a.call->moveBefore(then);
		at.SetInsertPoint(a.call);
		Value *address = at.CreateIntToPtr(number, pointer->getType());
		a.call->setArgOperand(0, at.CreatePointerCast(address, a.call->getArgOperand(0)->getType()));
	}
}

/* What is left of accesses to one object has one test, behind which each has its own. */
void test_groups(Function &f, const TargetLibraryInfo &library)
{
	SmallVector<std::pair<group, bool>, 32> all;
	test_writer tests(*f.getParent());
	test_count count(f);
	for (BasicBlock &block : f)
		for (const group &g : find_groups(block, library, false))
			all.push_back({g, count.is_short(g)});
	for (const auto &[g, is_short] : all)
		if (is_short || g.members.size() > 1 || !g.members.front().is_element()) /* whose own is not inlined */
			tests.test(g, is_short);
}
