/* A part of clang.cc: what is left in loops that call nothing goes from one address to any
 * other. Its maps (struct mcchk_touch) change in such a loop by nothing but its own calls,
 * so they are looked up in front of it, and again behind each of those. */

/* What ../runtime/mcchk.h calls MCCHK_SHADOW, MCCHK_PARTS and MCCHK_PAGE_SHIFT. */
const uint64_t shadow = 0x100000000000ull;
const uint64_t parts = 0x120000000000ull;
const unsigned page_shift = 12;
const unsigned touch_words = 9; /* of struct mcchk_touch */
enum { touch_frame, touch_lo, touch_count, touch_map, touch_settled = 7, touch_mask };

class map_writer {
public:
	explicit map_writer(Function &function) : f(function), module(*function.getParent()) {}
	void take(Loop &loop, DominatorTree &tree, LoopInfo &loops);
	unsigned write();

private:
	/* An access, and where the code keeps its map. */
	struct mapped {
		access a;
		GlobalVariable *touch;
		Value *lo, *count, *map, *mask;
	};
	struct end {
		BasicBlock *exit;
		Value *moment;
	};
	Function &f;
	Module &module;
	SmallVector<mapped, 16> accesses;
	SmallVector<end, 8> ends;

	Type *number() { return Type::getInt64Ty(module.getContext()); }
	Value *variable();
	Value *word(IRBuilder<> &at, const mapped &m, unsigned i);
	Value *byte(IRBuilder<> &at, uint64_t base, Value *distance);
	void read(IRBuilder<> &at, const mapped &m);
	void call(Instruction *before, const mapped &m, StringRef name, ArrayRef<Value *> arguments);
	void write(const mapped &m);
	void write(const end &e);
	MDNode *own_memory();
	MDNode *hardly_ever() { return MDBuilder(module.getContext()).createBranchWeights(1, 1000); }
};

Value *map_writer::variable()
{
	IRBuilder<> at(&*f.getEntryBlock().getFirstInsertionPt());
	return at.CreateAlloca(number(), nullptr, "mcchk.map");
}

/* What is set is no memory of the program's. */
MDNode *map_writer::own_memory()
{
	for (Instruction &i : instructions(f)) {
		MDNode *tag = i.getMetadata(LLVMContext::MD_tbaa);
		if (!tag || tag->getNumOperands() < 3)
			continue;
		auto *node = dyn_cast<MDNode>(tag->getOperand(1));
		while (node && node->getNumOperands() >= 2 && isa<MDNode>(node->getOperand(1)))
			node = cast<MDNode>(node->getOperand(1));
		if (!node || node->getNumOperands() != 1)
			continue;
		MDBuilder build(module.getContext());
		MDNode *type = build.createTBAAScalarTypeNode("mcchk set", node);
		return build.createTBAAStructTagNode(type, type, 0);
	}
	return nullptr;
}

/* Reads the maps of what is left in a loop in front of it. */
void map_writer::take(Loop &loop, DominatorTree &tree, LoopInfo &loops)
{
	size_t before = accesses.size();
	for (BasicBlock *block : loop.blocks())
		for (Instruction &i : *block) {
			access a;
			if (!announces(i, a) || !isPowerOf2_32(a.size))
				continue;
			auto *type = ArrayType::get(number(), touch_words);
			auto *touch = new GlobalVariable(module, type, false, GlobalValue::InternalLinkage, ConstantAggregateZero::get(type), "mcchk.touch");
			accesses.push_back({a, touch, variable(), variable(), variable(), variable()});
		}
	if (accesses.size() == before)
		return;
	IRBuilder<> front(loop.getLoopPreheader()->getTerminator());
	for (size_t i = before; i < accesses.size(); i++)
		read(front, accesses[i]);
	Value *moment = front.CreateLoad(number(), module.getOrInsertGlobal("mcchk_moment", number()), true, "mcchk.moment");
	SmallPtrSet<BasicBlock *, 8> split;
	for (;;) {
		SmallVector<Loop::Edge, 8> exits;
		loop.getExitEdges(exits);
		auto found = find_if(exits, [&](auto &e) { return !split.count(e.second); });
		if (found == exits.end())
			break;
		BasicBlock *exit = SplitEdge(found->first, found->second, &tree, &loops);
		split.insert(exit);
		ends.push_back({exit, moment});
	}
}

/* Reads how far a map reaches in this call of the function. */
void map_writer::read(IRBuilder<> &at, const mapped &m)
{
	Value *frame = at.CreateIntrinsic(Intrinsic::frameaddress, {at.getInt8PtrTy()}, {at.getInt32(0)});
	Value *own = at.CreateICmpEQ(at.CreatePtrToInt(frame, number()), word(at, m, touch_frame));
	at.CreateStore(word(at, m, touch_lo), m.lo);
	at.CreateStore(at.CreateSelect(own, word(at, m, touch_count), at.getInt64(0)), m.count);
	at.CreateStore(word(at, m, touch_map), m.map);
	at.CreateStore(word(at, m, touch_mask), m.mask);
}

Value *map_writer::word(IRBuilder<> &at, const mapped &m, unsigned i)
{
	return at.CreateLoad(number(), at.CreateConstInBoundsGEP2_64(m.touch->getValueType(), m.touch, 0, i), true);
}

Value *map_writer::byte(IRBuilder<> &at, uint64_t base, Value *distance)
{
	Value *where = at.CreateIntToPtr(at.CreateAdd(distance, at.getInt64(base)), at.getInt8PtrTy());
	return at.CreateZExt(at.CreateLoad(at.getInt8Ty(), where, true), number());
}

/* Calls a function of the run-time that may change the map. */
void map_writer::call(Instruction *before, const mapped &m, StringRef name, ArrayRef<Value *> arguments)
{
	IRBuilder<> at(before);
	at.SetCurrentDebugLocation(m.a.call->getDebugLoc());
	SmallVector<Type *, 3> types(arguments.size(), number());
	FunctionCallee callee = module.getOrInsertFunction(name, FunctionType::get(at.getVoidTy(), types, false));
	auto *function = cast<Function>(callee.getCallee());
	function->setCallingConv(CallingConv::PreserveMost);
	function->setDoesNotThrow();
	function->setOnlyAccessesInaccessibleMemory();
	at.CreateCall(callee, arguments)->setCallingConv(CallingConv::PreserveMost);
	read(at, m);
}

/* The map is asked first. Where it does not reach, and nothing matters, the run-time may
 * say how far that goes. */
void map_writer::write(const mapped &m)
{
	const access &a = m.a;
	IRBuilder<> at(a.call);
	unsigned shift = Log2_32(a.size);
	Value *address = at.CreatePtrToInt(a.call->getArgOperand(0), number());
	Value *element = at.CreateSub(address, at.CreateLoad(number(), m.lo));
	if (shift > 0)
		element = at.CreateIntrinsic(Intrinsic::fshr, {number()}, {element, element, at.getInt64(shift)});
	Value *beyond = at.CreateICmpUGE(element, at.CreateLoad(number(), m.count));
	Instruction *slow, *set, *hot, *cold;
	SplitBlockAndInsertIfThenElse(beyond, a.call, &slow, &set, hardly_ever());

	at.SetInsertPoint(set);
	Value *where = at.CreateAdd(at.CreateLoad(number(), m.map), at.CreateAnd(element, at.CreateLoad(number(), m.mask)));
	StoreInst *store = at.CreateStore(at.getInt8(1), at.CreateIntToPtr(where, at.getInt8PtrTy()));
	store->setMetadata(LLVMContext::MD_tbaa, own_memory());

	at.SetInsertPoint(slow);
	at.SetCurrentDebugLocation(a.call->getDebugLoc());
	Value *page = byte(at, shadow, at.CreateLShr(address, page_shift));
	Value *part = at.CreateLShr(byte(at, parts, at.CreateLShr(address, 6)), at.CreateAnd(at.CreateLShr(address, 3), 7));
	part = at.CreateOr(at.CreateAnd(part, a.size > 8 ? 3 : 1), at.CreateAnd(address, a.size - 1));
	part = at.CreateOr(part, at.CreateAnd(page, 1));
	Value *matters = at.CreateAnd(at.CreateICmpNE(page, at.getInt64(0)), at.CreateICmpNE(part, at.getInt64(0)));
	SplitBlockAndInsertIfThenElse(matters, slow, &hot, &cold, nullptr);
	Value *touch = ConstantExpr::getPtrToInt(m.touch, number());
	call(hot, m, (Twine("mcchk_slow_touch_") + (a.store ? "write" : "read") + Twine(a.size)).str(), {address, touch});
	at.SetInsertPoint(cold);
	Value *ask = at.CreateICmpEQ(word(at, m, touch_settled), at.getInt64(0));
	Instruction *asks = SplitBlockAndInsertIfThen(ask, cold, false, hardly_ever());
	call(asks, m, "mcchk_slow_cold", {address, touch, at.getInt64(shift)});
	a.call->eraseFromParent();
}

/* Behind the loop: whether other threads made calls meanwhile. */
void map_writer::write(const end &e)
{
	IRBuilder<> at(e.exit->getTerminator());
	Value *now = at.CreateLoad(number(), module.getOrInsertGlobal("mcchk_moment", number()), true);
	Instruction *then = SplitBlockAndInsertIfThen(at.CreateICmpNE(now, e.moment), e.exit->getTerminator(), false, hardly_ever());
	at.SetInsertPoint(then);
	FunctionCallee callee = module.getOrInsertFunction("mcchk_maps_end", at.getVoidTy());
	cast<Function>(callee.getCallee())->setDoesNotThrow();
	at.CreateCall(callee);
}

/* Returns how many accesses have maps. */
unsigned map_writer::write()
{
	for (const mapped &m : accesses)
		write(m);
	for (const end &e : ends)
		write(e);
	return accesses.size();
}
