// rule_momentum.cu: the loop of src/training/method/rule/rule_momentum.c on a card.

struct momentum {
    enum { NSTATES = 1 };
    DEVICE float step(const float *k, float w, float sum, float *state)
    {
        *state = add(multiply(k[SGD_MU], *state), sgd_gradient(k, w, sum));
        return subtract(w, multiply(k[SGD_LR], *state));
    }
};
RULE(momentum)
