/* A part of clang.cc: what the program says of its numbers, and LLVM has not kept where it
 * widened them. */

/* The factor by which an instruction multiplies a number so that the result fits; else 0. */
uint64_t scales(const Instruction &i)
{
	auto *operation = dyn_cast<OverflowingBinaryOperator>(&i);
	auto *factor = operation ? dyn_cast<ConstantInt>(operation->getOperand(1)) : nullptr;
	if (!factor || !operation->hasNoSignedWrap() || i.getType()->getIntegerBitWidth() > 64)
		return 0;
	if (i.getOpcode() == Instruction::Shl)
		return factor->getLimitedValue(64) < 32 ? 1ull << factor->getZExtValue() : 0;
	return i.getOpcode() == Instruction::Mul && factor->getSExtValue() > 0 ? factor->getZExtValue() : 0;
}

/* Whether the block goes on as a comparison with the number says, which must fit then. */
bool decides(const Instruction &number)
{
	auto *branch = dyn_cast<BranchInst>(number.getParent()->getTerminator());
	auto *compare = branch && branch->isConditional() ? dyn_cast<ICmpInst>(branch->getCondition()) : nullptr;
	return compare && is_contained(compare->operands(), &number);
}

/* The step of a number that is the same in each iteration: 0 if it is large or none is. */
uint64_t small_step(const SCEVAddRecExpr *moving, const Loop *loop)
{
	auto *step = moving && moving->getLoop() == loop && moving->isAffine() ? dyn_cast<SCEVConstant>(moving->getOperand(1)) : nullptr;
	if (!step || step->getAPInt().sle(0) || step->getAPInt().getActiveBits() + 2 > step->getAPInt().getBitWidth())
		return 0;
	return step->getAPInt().getZExtValue();
}

/* A product that goes on by one step in each iteration, all of which have it fit, does not
 * wrap in the loop: nor does what is multiplied, for the product would have before. */
void loop_pass::learn()
{
	for (Loop *loop : loops->getLoopsInPreorder()) {
		SmallVector<BasicBlock *, 8> ends;
		loop->getExitingBlocks(ends);
		ends.push_back(loop->getLoopLatch());
		for (BasicBlock *block : loop->blocks()) {
			if (loops->getLoopFor(block) != loop || !all_of(ends, [&](BasicBlock *end) { return end && tree->dominates(block, end); }))
				continue;
			for (Instruction &i : *block) {
				uint64_t factor = scales(i);
				if (factor < 2 || !decides(i))
					continue;
				auto *moving = dyn_cast<SCEVAddRecExpr>(evolution->getSCEV(&i));
				auto *from = dyn_cast<SCEVAddRecExpr>(evolution->getSCEV(i.getOperand(0)));
				uint64_t step = small_step(moving, loop);
				if (step == 0 || step % factor != 0 || step / factor != small_step(from, loop))
					continue;
				bool natural = evolution->isKnownNonNegative(moving->getStart());
				evolution->setNoWrapFlags(const_cast<SCEVAddRecExpr *>(moving), natural ? ScalarEvolution::setFlags(SCEV::FlagNSW, SCEV::FlagNUW) : SCEV::FlagNSW);
			}
		}
	}
}

/* Whether a condition is always true, or always false. */
bool loop_pass::is_known(Value *condition, bool sense)
{
	auto *compare = dyn_cast<ICmpInst>(condition);
	if (!compare || !evolution->isSCEVable(compare->getOperand(0)->getType()))
		return false;
	auto predicate = sense ? compare->getPredicate() : compare->getInversePredicate();
	return evolution->isKnownPredicate(predicate, evolution->getSCEV(compare->getOperand(0)), evolution->getSCEV(compare->getOperand(1)));
}
