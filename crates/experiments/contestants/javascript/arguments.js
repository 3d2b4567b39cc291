'use strict';

// The two arguments of every program in this folder: THREADS HOPS.
module.exports = function () {
    const given = process.argv.slice(2);
    if (given.length === 2 && given.every((text) => /^[0-9]{1,15}$/.test(text)) && Number(given[0]) >= 1) {
        return given.map(Number);
    }
    console.error('ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits');
    process.exit(2);
};
