// rule_momentum.cu: as src/training/method/rule_momentum.c.

enum { UNSCALE, DECAY, LR, MU };

struct momentum {
    enum { NSTATES = 1 };
    DEVICE float step(const float *k, float w, float sum, float *state)
    {
        const float g = add(multiply(k[UNSCALE], sum), multiply(k[DECAY], w));
        *state = add(multiply(k[MU], *state), g);
        return subtract(w, multiply(k[LR], *state));
    }
};
RULE(momentum)
