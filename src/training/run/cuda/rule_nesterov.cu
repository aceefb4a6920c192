// rule_nesterov.cu: as src/training/method/rule_nesterov.c.

enum { UNSCALE, DECAY, LR, MU };

struct nesterov {
    enum { NSTATES = 1 };
    DEVICE float step(const float *k, float w, float sum, float *state)
    {
        const float g = add(multiply(k[UNSCALE], sum), multiply(k[DECAY], w));
        *state = add(multiply(k[MU], *state), g);
        return subtract(w, multiply(k[LR], add(g, multiply(k[MU], *state))));
    }
};
RULE(nesterov)
