/* A part of clang.cc: calls that the sanitizer would leave, or make, where the plain program has
 * a few instructions. */

/* Copies of no more bytes become a load and a store, … */
const uint64_t largest_copy = 128;

/* The type of a number, or of several, of so many bytes; nullptr: there is none. */
Type *numbers_of(uint64_t size, LLVMContext &context)
{
	unsigned bytes = size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : 0;
	if (bytes == 0 || size > largest_copy)
		return size == 1 || size == 2 ? Type::getIntNTy(context, 8 * (unsigned)size) : nullptr;
	Type *one = Type::getIntNTy(context, 8 * bytes);
	return size == bytes ? one : FixedVectorType::get(one, (unsigned)(size / bytes));
}

/* … which the sanitizer announces. It would make calls of memcpy of copies of structures, and
 * the run-time's memcpy announces accesses of the same sizes. */
void copy_by_numbers(MemTransferInst &copy)
{
	auto *length = dyn_cast<ConstantInt>(copy.getLength());
	Type *type = length && !copy.isVolatile() ? numbers_of(length->getZExtValue(), copy.getContext()) : nullptr;
	if (!type || copy.getSourceAddressSpace() != 0 || copy.getDestAddressSpace() != 0)
		return;
	IRBuilder<> at(&copy);
	Type *pointer = type->getPointerTo();
	LoadInst *load = at.CreateAlignedLoad(type, at.CreatePointerCast(copy.getRawSource(), pointer), copy.getSourceAlign().valueOrOne());
	at.CreateAlignedStore(load, at.CreatePointerCast(copy.getRawDest(), pointer), copy.getDestAlign().valueOrOne());
	copy.eraseFromParent();
}

/* Whether nobody but the function knows an address in the memory that a pointer points to. */
bool is_private(Value *pointer)
{
	auto *made = dyn_cast<AllocaInst>(getUnderlyingObject(pointer));
	return made && !PointerMayBeCaptured(made, true, true);
}

/* What is passed by value from memory is copied where the call is made, which no sanitizer sees:
 * it is copied to a variable of the function first. */
void copy_before(CallBase &call)
{
	if (call.isMustTailCall())
		return;
	for (unsigned k = 0; k < call.arg_size(); k++) {
		Value *from = call.getArgOperand(k);
		if (!call.isByValArgument(k) || from->getType()->getPointerAddressSpace() != 0 || is_private(from))
			continue;
		Type *type = call.getParamByValType(k);
		const DataLayout &layout = call.getModule()->getDataLayout();
		Align align = std::max(call.getParamAlign(k).valueOrOne(), layout.getABITypeAlign(type));
		auto *copy = new AllocaInst(type, layout.getAllocaAddrSpace(), nullptr, align, "", &*call.getFunction()->getEntryBlock().getFirstInsertionPt());
		IRBuilder<> at(&call);
		at.CreateMemCpy(copy, align, from, call.getParamAlign(k).valueOrOne(), layout.getTypeAllocSize(type));
		call.setArgOperand(k, at.CreatePointerCast(copy, from->getType()));
	}
}

/* Comes before the sanitizer, and behind all else. */
class copy_pass : public PassInfoMixin<copy_pass> {
	bool optimized;

public:
	explicit copy_pass(bool optimized) : optimized(optimized) {}

	PreservedAnalyses run(Module &module, ModuleAnalysisManager &)
	{
		if (is_instrumented(module))
			return PreservedAnalyses::all();
		for (Function &f : module) {
			if (!f.hasFnAttribute(Attribute::SanitizeThread))
				continue;
			for (Instruction &i : instructions(f))
				if (auto *call = dyn_cast<CallBase>(&i))
					copy_before(*call);
			for (Instruction &i : make_early_inc_range(instructions(f)))
				if (auto *copy = dyn_cast<MemTransferInst>(&i); copy && optimized)
					copy_by_numbers(*copy);
		}
		return PreservedAnalyses::none();
	}
};

/* The sanitizer says of functions such as sqrt that they are the program's own, for it may
 * replace them: nothing here does. */
void know_mathematics(Function &f, const TargetLibraryInfo &library)
{
	for (Instruction &i : instructions(f)) {
		auto *call = dyn_cast<CallInst>(&i);
		Function *callee = call && call->isNoBuiltin() ? call->getCalledFunction() : nullptr;
		LibFunc function;
		if (callee && callee->isDeclaration() && call->getType()->isFloatingPointTy() && library.getLibFunc(*callee, function) && library.has(function) &&
		    library.hasOptimizedCodeGen(function))
			call->removeFnAttr(Attribute::NoBuiltin);
	}
}
