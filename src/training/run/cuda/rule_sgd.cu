// rule_sgd.cu: as src/training/method/rule_sgd.c.

enum { UNSCALE, DECAY, LR };

struct sgd {
    enum { NSTATES = 0 };
    DEVICE float step(const float *k, float w, float sum, float *)
    {
        const float g = add(multiply(k[UNSCALE], sum), multiply(k[DECAY], w));
        return subtract(w, multiply(k[LR], g));
    }
};
RULE(sgd)
