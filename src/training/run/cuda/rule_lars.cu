// rule_lars.cu: the loop of src/training/method/rule/rule_lars.c on a card.

enum { UNSCALE, DECAY, MU, INTO_MOMENTUM, OUT_OF_IT };

struct lars {
    enum { NSTATES = 1 };
    DEVICE float step(const float *k, float w, float sum, float *state)
    {
        const float g = add(multiply(k[UNSCALE], sum), multiply(k[DECAY], w));
        *state = add(multiply(k[MU], *state), multiply(k[INTO_MOMENTUM], g));
        return subtract(w, multiply(k[OUT_OF_IT], *state));
    }
};
RULE(lars)
NORMS_OF_GRADIENTS
