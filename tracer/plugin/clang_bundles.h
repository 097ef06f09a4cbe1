/* A part of clang.cc: what is announced of all accesses of a loop in one call, behind it
 * (mcchk_bundle in ../runtime/callbacks.c). */

const unsigned bundle_words = 6; /* of struct mcchk_bundle */
const unsigned most_bundled = 32; /* words of an announcement: MCCHK_BUNDLE_WORDS */

/* What is announced of an access where a loop is left. */
struct announcement {
	const access *a;
	bool last; /* made in the last iteration, before the loop is left there */
	Value *start, *step, *count;
};

/* The run-time's function that is told something, in numbers. */
static FunctionCallee telling(Module &module, StringRef name, unsigned arguments, bool answers = false)
{
	Type *number = Type::getInt64Ty(module.getContext());
	SmallVector<Type *, 8> types(arguments, number);
	Type *result = answers ? number : Type::getVoidTy(module.getContext());
	FunctionCallee callee = module.getOrInsertFunction(name, FunctionType::get(result, types, answers));
	auto *function = cast<Function>(callee.getCallee());
	function->setDoesNotThrow();
	function->setOnlyAccessesInaccessibleMemory();
	return callee;
}

static uint64_t kind_of(const access &a) { return a.size | (a.store ? store_flag << 16 : 0); }

/* Asks mcchk_bundle(bundle, passes, moment, …) for all of them. Returns where it says that each is to be
 * announced alone; nullptr: they are too few or too many for that. */
static Instruction *bundle(ArrayRef<announcement> all, Value *passes, Value *moment, Instruction *before, DominatorTree *tree, LoopInfo *loops)
{
	Module &module = *before->getModule();
	IRBuilder<> at(before);
	Type *number = at.getInt64Ty();
	SmallVector<Value *, 40> strides;
	SmallVector<uint64_t, 80> words(bundle_words, 0);
	for (const announcement &n : all) {
		auto *fixed = dyn_cast<ConstantInt>(n.step);
		uint64_t stride_word = fixed ? 0 : all.size() + strides.size();
		words.push_back(fixed ? fixed->getZExtValue() : 0);
		words.push_back(kind_of(*n.a) | (uint64_t)n.last << 32 | stride_word << 40);
		words.push_back(0);
		if (!fixed)
			strides.push_back(n.step);
	}
	if (all.size() < 2 || all.size() + strides.size() > most_bundled)
		return nullptr;
	words[bundle_words - 1] = all.size() | (all.size() + strides.size()) << 16;
	Constant *value = ConstantDataArray::get(module.getContext(), words);
	auto *variable = new GlobalVariable(module, value->getType(), false, GlobalValue::InternalLinkage, value, "mcchk.bundle");
	Value *zero = at.getInt64(0);
	SmallVector<Value *, 40> arguments = {ConstantExpr::getPtrToInt(variable, number), passes, moment, zero, zero, zero};
	for (const announcement &n : all)
		arguments.push_back(n.start);
	arguments.append(strides.begin(), strides.end());
	at.SetCurrentDebugLocation(all.front().a->call->getDebugLoc());
	Value *taken = at.CreateCall(telling(module, "mcchk_bundle", 6, true), arguments);
	return SplitBlockAndInsertIfThen(at.CreateICmpEQ(taken, zero), before, false, nullptr, tree, loops);
}
