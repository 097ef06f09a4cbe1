/* A part of clang.cc: what need not be announced, because no other process can get to it. */

/* A function in whose frame no buffer can lie, for others know no address in it, need not
 * say that it returns. */
void leave_exits_out(Function &f)
{
	for (Argument &a : f.args())
		if (a.hasByValAttr())
			return;
	SmallVector<CallInst *, 4> exits;
	for (Instruction &i : instructions(f)) {
		if (isa<AllocaInst>(i) && PointerMayBeCaptured(&i, true, true, most_uses))
			return;
		auto *call = dyn_cast<CallInst>(&i);
		Function *callee = call ? call->getCalledFunction() : nullptr;
		if (callee && callee->getName() == "__tsan_func_exit")
			exits.push_back(call);
	}
	for (CallInst *call : exits)
		call->eraseFromParent();
}

/* A function that never has maps or sets need not say that it begins. */
void leave_entries_out(Function &f)
{
	SmallVector<CallInst *, 4> entries;
	for (Instruction &i : instructions(f)) {
		auto *call = dyn_cast<CallInst>(&i);
		Function *callee = call ? call->getCalledFunction() : nullptr;
		if (callee && callee->getName() == "__tsan_func_entry")
			entries.push_back(call);
	}
	for (CallInst *call : entries)
		call->eraseFromParent();
}

/* Whether nobody but the function ever knows where that memory is: then it can be no
 * buffer. */
bool is_private(const Value *address)
{
	SmallVector<const Value *, 4> objects;
	getUnderlyingObjects(address, objects, nullptr, 0);
	return !objects.empty() && all_of(objects, [](const Value *object) {
		return (isa<AllocaInst>(object) || isNoAliasCall(object)) && !PointerMayBeCaptured(object, true, true, most_uses);
	});
}

/* Takes out the calls for such memory. The calls themselves tell nobody. */
void drop_private(Function &f, places &counted)
{
	SmallVector<access, 32> all;
	SmallVector<CallInst *, 16> drop;
	for (Instruction &i : instructions(f)) {
		access a;
		if (!announces(i, a))
			continue;
		a.call->addParamAttr(0, Attribute::NoCapture);
		all.push_back(a);
	}
	for (access &a : all)
		if (is_private(a.call->getArgOperand(0)))
			drop.push_back(a.call);
	for (access &a : all)
		a.call->removeParamAttr(0, Attribute::NoCapture);
	for (CallInst *call : drop)
		call->eraseFromParent();
	counted.without += drop.size();
}
