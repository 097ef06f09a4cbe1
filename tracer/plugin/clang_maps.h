/* A part of clang.cc: what is left in loops that call nothing goes from one address to any
 * other. Its maps (struct mcchk_touch of ../runtime/mcchk.h) change in such a loop by nothing
 * but its own calls, so they are looked up in front of it, and again behind each of those. */

enum { touch_context, touch_lo, touch_count, touch_map, touch_settled = 7, touch_cold_lo, touch_cold_count, touch_others };
const unsigned entries = 4096; /* MCCHK_ENTRIES */
const unsigned member_words = 2; /* of struct mcchk_member */

class map_writer {
public:
	explicit map_writer(Function &function) : f(function), module(*function.getParent()), tests(module) {}
	void take(Loop &loop, DominatorTree &tree, LoopInfo &loops, const TargetLibraryInfo &library);
	unsigned write();

private:
	/* Accesses, and where the code keeps their map: from which number of an element on there
	 * are how many. The number is that of the address, or where `base` is the same all the
	 * time, of the distance from that. */
	struct mapped {
		group g;
		GlobalVariable *touch, *members;
		Value *base;
		Value *from, *count, *map, *cold_from, *cold_count;
		Instruction *asks; /* in front of the loop: whether it has the map of another context, and others */

		unsigned shift() const { return Log2_32(g.members.front().size); }
	};
	struct end {
		BasicBlock *exit;
		Value *moment;
	};
	Function &f;
	Module &module;
	test_writer tests;
	SmallVector<mapped, 16> places;
	SmallVector<end, 8> ends;

	Type *number() { return tests.number(); }
	Value *variable();
	GlobalVariable *static_words(Constant *value, const char *name);
	GlobalVariable *members_of(const group &g);
	Value *base_of(const group &g, Loop &loop, IRBuilder<> &front);
	Value *word(IRBuilder<> &at, const mapped &m, unsigned i);
	Value *begins(IRBuilder<> &at, const mapped &m, unsigned i);
	Value *element(IRBuilder<> &at, const mapped &m);
	Value *index(IRBuilder<> &at, const mapped &m, Value *element, Value *from);
	Value *is_own(IRBuilder<> &at, const mapped &m);
	void read(IRBuilder<> &at, const mapped &m);
	void write_turn(const mapped &m);
	void write(const mapped &m);
	void write_slow(Instruction *slow, const mapped &m);
	void write(const end &e);
	MDNode *own_memory();
};

Value *map_writer::variable()
{
	IRBuilder<> at(&*f.getEntryBlock().getFirstInsertionPt());
	return at.CreateAlloca(number(), nullptr, "mcchk.map");
}

GlobalVariable *map_writer::static_words(Constant *value, const char *name)
{
	return new GlobalVariable(module, value->getType(), false, GlobalValue::InternalLinkage, value, name);
}

/* The first word of each is known, the others are the run-time's. */
GlobalVariable *map_writer::members_of(const group &g)
{
	SmallVector<uint64_t, 16> words;
	for (size_t i = 0; i < g.members.size(); i++) {
		const access &a = g.members[i];
		words.push_back((uint32_t)g.offsets[i] | (uint64_t)a.size << 32 | (uint64_t)(a.store ? store_flag : 0) << 48);
		words.append(member_words - 1, 0);
	}
	return static_words(ConstantDataArray::get(module.getContext(), words), "mcchk.members");
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

/* The address from which on elements can be numbered by the index of a group alone: one that
 * stays the same in a loop. nullptr: there is none. */
Value *map_writer::base_of(const group &g, Loop &loop, IRBuilder<> &front)
{
	const place &p = g.first;
	if (!p.index || p.scale % g.members.front().size != 0 || !loop.isLoopInvariant(p.base))
		return nullptr;
	return front.CreateAdd(front.CreatePtrToInt(p.base, number()), front.getInt64(p.offset));
}

/* Reads the maps of what is left in a loop in front of it. */
void map_writer::take(Loop &loop, DominatorTree &tree, LoopInfo &loops, const TargetLibraryInfo &library)
{
	size_t before = places.size();
	IRBuilder<> front(loop.getLoopPreheader()->getTerminator());
	for (BasicBlock *block : loop.blocks())
		for (group &g : find_groups(*block, library, true)) {
			auto *touch = static_words(ConstantAggregateZero::get(ArrayType::get(number(), touch_words)), "mcchk.touch");
			places.push_back({g, touch, members_of(g), base_of(g, loop, front), variable(), variable(), variable(), variable(), variable(), nullptr});
		}
	if (places.size() == before)
		return;
	for (size_t i = before; i < places.size(); i++) {
		Value *others = front.CreateICmpNE(word(front, places[i], touch_others), front.getInt64(0));
		places[i].asks = cast<Instruction>(front.CreateAnd(others, front.CreateNot(is_own(front, places[i]))));
		read(front, places[i]);
	}
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

/* The number of the element that a map begins with, less: what is to be subtracted from that
 * of an address. Where a base is no multiple of elements away from it, all are beyond. */
Value *map_writer::begins(IRBuilder<> &at, const mapped &m, unsigned i)
{
	Value *lo = word(at, m, i);
	if (!m.base)
		return lo;
	Value *distance = at.CreateSub(lo, m.base);
	Value *even = at.CreateICmpEQ(at.CreateAnd(distance, (1ull << m.shift()) - 1), at.getInt64(0));
	return at.CreateSelect(even, at.CreateAShr(distance, m.shift()), at.getInt64(1ull << 62));
}

/* Whether the place has its map in this call of the function. */
Value *map_writer::is_own(IRBuilder<> &at, const mapped &m)
{
	Value *frame = at.CreatePtrToInt(at.CreateIntrinsic(Intrinsic::frameaddress, {at.getInt8PtrTy()}, {at.getInt32(0)}), number());
	Value *caller = at.CreatePtrToInt(at.CreateIntrinsic(Intrinsic::returnaddress, {}, {at.getInt32(0)}), number());
	auto *words = ArrayType::get(number(), entries); /* MCCHK_ENTRY of ../runtime/mcchk.h */
	Value *entry = at.CreateAnd(at.CreateAdd(at.CreateLShr(frame, 4), caller), entries - 1);
	entry = at.CreateInBoundsGEP(words, module.getOrInsertGlobal("mcchk_entries", words), {at.getInt64(0), entry});
	return at.CreateICmpEQ(at.CreateSub(at.CreateLoad(number(), entry, true), frame), word(at, m, touch_context));
}

/* Reads how far a map reaches in this call of the function. */
void map_writer::read(IRBuilder<> &at, const mapped &m)
{
	Value *own = is_own(at, m);
	Value *from = begins(at, m, touch_lo), *map = word(at, m, touch_map), *zero = at.getInt64(0);
	at.CreateStore(from, m.from);
	at.CreateStore(at.CreateSelect(own, word(at, m, touch_count), zero), m.count);
	at.CreateStore(m.base ? at.CreateSub(map, from) : map, m.map);
	at.CreateStore(begins(at, m, touch_cold_lo), m.cold_from);
	at.CreateStore(at.CreateSelect(own, word(at, m, touch_cold_count), zero), m.cold_count);
}

Value *map_writer::word(IRBuilder<> &at, const mapped &m, unsigned i)
{
	return at.CreateLoad(number(), at.CreateConstInBoundsGEP2_64(m.touch->getValueType(), m.touch, 0, i), true);
}

/* What tells the first element of a group from others: its number from the base on, or its
 * address. */
Value *map_writer::element(IRBuilder<> &at, const mapped &m)
{
	const place &p = m.g.first;
	if (!m.base)
		return at.CreatePtrToInt(m.g.call()->getArgOperand(0), number());
	Value *index = p.cast ? at.CreateCast((Instruction::CastOps)p.cast, p.index, number()) : p.index;
	return at.CreateMul(index, at.getInt64(p.scale >> m.shift()));
}

/* The index of an element in a map that begins there: one that is not aligned is beyond all. */
Value *map_writer::index(IRBuilder<> &at, const mapped &m, Value *element, Value *from)
{
	Value *index = at.CreateSub(element, at.CreateLoad(number(), from));
	if (!m.base && m.shift() > 0)
		index = at.CreateIntrinsic(Intrinsic::fshr, {number()}, {index, index, at.getInt64(m.shift())});
	return index;
}

/* The map is asked first, and then what does not matter. */
void map_writer::write(const mapped &m)
{
	IRBuilder<> at(m.g.call());
	at.SetCurrentDebugLocation(m.g.call()->getDebugLoc());
	Value *element = this->element(at, m), *index = this->index(at, m, element, m.from);
	Value *beyond = at.CreateICmpUGE(index, at.CreateLoad(number(), m.count));
	Instruction *other, *set;
	SplitBlockAndInsertIfThenElse(beyond, m.g.call(), &other, &set, nullptr);

	at.SetInsertPoint(set);
	Value *where = at.CreateAdd(at.CreateLoad(number(), m.map), m.base ? element : index);
	StoreInst *store = at.CreateStore(at.getInt8(1), at.CreateIntToPtr(where, at.getInt8PtrTy()));
	store->setMetadata(LLVMContext::MD_tbaa, own_memory());

	at.SetInsertPoint(other);
	Value *matters = at.CreateICmpUGE(this->index(at, m, element, m.cold_from), at.CreateLoad(number(), m.cold_count));
	write_slow(SplitBlockAndInsertIfThen(matters, other, false, tests.hardly_ever()), m);
	for (const access &a : m.g.members)
		a.call->eraseFromParent();
}

/* Where neither says anything, each access is looked at if the pages matter; and where they
 * do not, the run-time may say how far that goes. */
void map_writer::write_slow(Instruction *slow, const mapped &m)
{
	IRBuilder<> at(slow);
	at.SetCurrentDebugLocation(m.g.call()->getDebugLoc());
	Value *first = at.CreatePtrToInt(m.g.call()->getArgOperand(0), number());
	Value *some = at.CreateICmpNE(tests.shadow_of(at, m.g, first), at.getInt8(0));
	Value *ask = at.CreateOr(some, at.CreateICmpEQ(word(at, m, touch_settled), at.getInt64(0)));
	Instruction *asks = SplitBlockAndInsertIfThen(ask, slow, false, nullptr);
	Instruction *look = SplitBlockAndInsertIfThen(some, asks, false, nullptr);
	for (size_t i = 0; i < m.g.members.size(); i++) {
		const access &a = m.g.members[i];
		at.SetInsertPoint(look);
		Value *address = at.CreateAdd(first, at.getInt64(m.g.offsets[i]));
		Constant *member = ConstantExpr::getAdd(ConstantExpr::getPtrToInt(m.members, number()), at.getInt64(8 * member_words * i));
		tests.call_slow(look, a, (Twine("mcchk_slow_member_") + (a.store ? "write" : "read") + Twine(a.size)).str(), {address, member});
	}
	Constant *touch = ConstantExpr::getPtrToInt(m.touch, number()), *members = ConstantExpr::getPtrToInt(m.members, number());
	tests.call_slow(asks, m.g.members.front(), "mcchk_slow_group", {first, touch, members, at.getInt64(m.g.members.size() | (uint64_t)m.shift() << 16)});
	at.SetInsertPoint(asks);
	read(at, m);
}

/* In front of the loop: the place is to have the map of this call's context. */
void map_writer::write_turn(const mapped &m)
{
	Instruction *then = SplitBlockAndInsertIfThen(m.asks, m.asks->getNextNode(), false, nullptr);
	IRBuilder<> at(then);
	FunctionCallee callee = module.getOrInsertFunction("mcchk_maps_turn", at.getVoidTy(), m.touch->getType());
	cast<Function>(callee.getCallee())->setDoesNotThrow();
	at.CreateCall(callee, {m.touch});
}

/* Behind the loop: whether other threads made calls meanwhile. */
void map_writer::write(const end &e)
{
	IRBuilder<> at(e.exit->getTerminator());
	Value *now = at.CreateLoad(number(), module.getOrInsertGlobal("mcchk_moment", number()), true);
	Instruction *then = SplitBlockAndInsertIfThen(at.CreateICmpNE(now, e.moment), e.exit->getTerminator(), false, tests.hardly_ever());
	at.SetInsertPoint(then);
	FunctionCallee callee = module.getOrInsertFunction("mcchk_maps_end", at.getVoidTy());
	cast<Function>(callee.getCallee())->setDoesNotThrow();
	at.CreateCall(callee);
}

/* Returns how many accesses have maps. */
unsigned map_writer::write()
{
	unsigned n = 0;
	for (const mapped &m : places) {
		write(m);
		write_turn(m);
		n += m.g.members.size();
	}
	for (const end &e : ends)
		write(e);
	return n;
}
