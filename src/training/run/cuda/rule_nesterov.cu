// rule_nesterov.cu: the loop of src/training/method/rule/rule_nesterov.c on a card.

struct nesterov {
    enum { NSTATES = 1 };
    DEVICE float step(const float *k, float w, float sum, float *state)
    {
        const float g = sgd_gradient(k, w, sum);
        *state = add(multiply(k[SGD_MU], *state), g);
        return subtract(w, multiply(k[SGD_LR], add(g, multiply(k[SGD_MU], *state))));
    }
};
RULE(nesterov)
