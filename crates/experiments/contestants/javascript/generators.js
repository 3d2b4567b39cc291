'use strict';

// Generators that pass a token around; a first in, first out queue resumes them.
const [threads, hops] = require('./arguments.js')();

const tokens = new Array(threads).fill(0);
const ready = [];

function* passOn(index) {
    const next = (index + 1) % threads;
    for (;;) {
        yield;
        const token = tokens[index];
        if (token === 0) {
            return index + 1;
        }
        tokens[next] = token - 1;
        ready.push(next);
    }
}

const ring = Array.from({ length: threads }, (_, index) => passOn(index));
for (const thread of ring) {
    thread.next();
}

tokens[0] = hops;
ready.push(0);
let state;
do {
    state = ring[ready.shift()].next();
} while (!state.done);
console.log(state.value);
