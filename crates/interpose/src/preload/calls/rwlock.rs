//! `pthread_rwlock_*`.

use super::exclusive::{attempt, destroy, release, take};
use super::shapes::{attempts, destroys, releases, takes, takes_by_clock, takes_until};
use crate::layout::Kind::{Read, Write};
use crate::preload::external::EBUSY;

takes!(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, Read, EBUSY);
takes_until!(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, Read, EBUSY);
takes_by_clock!(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, Read, EBUSY);
attempts!(pthread_rwlock_tryrdlock, Read, EBUSY);
takes!(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, Write, EBUSY);
takes_until!(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, Write, EBUSY);
takes_by_clock!(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, Write, EBUSY);
attempts!(pthread_rwlock_trywrlock, Write, EBUSY);
releases!(pthread_rwlock_unlock);
destroys!(pthread_rwlock_destroy);
