'use strict';

// Asynchronous functions that pass a token around, each waiting for a promise of its own.
const [threads, hops] = require('./arguments.js')();

class Mailbox {
    constructor() {
        this.empty();
    }

    empty() {
        this.filled = new Promise((resolve) => {
            this.put = resolve;
        });
    }

    async take() {
        const token = await this.filled;
        this.empty();
        return token;
    }
}

async function passOn(number, own, next, last) {
    let token;
    while ((token = await own.take()) > 0) {
        next.put(token - 1);
    }
    last.put(number);
}

async function main() {
    const mailboxes = Array.from({ length: threads }, () => new Mailbox());
    const last = new Mailbox();
    mailboxes.forEach((own, index) => passOn(index + 1, own, mailboxes[(index + 1) % threads], last));
    mailboxes[0].put(hops);
    console.log(await last.take());
}

main();
