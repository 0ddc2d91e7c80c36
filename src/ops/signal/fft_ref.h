/* fft_ref.h: discrete Fourier transforms of any length in n log n.
 *
 * In double; or, `single`, with every step rounded to float, in the order of operations of NumPy's
 * (pocketfft's) transforms of complex numbers: recorded results that would be zero are the noise of
 * that. */
#ifndef ONX_FFT_REF_H
#define ONX_FFT_REF_H

#include "rt/kernel.h"

typedef struct onx_cplx {
    double re, im;
} onx_cplx;

/* What transforms of one length share. Lengths with no prime factor above 11 are taken apart by
 * their factors; others are a convolution with a chirp (Bluestein), made with transforms of a power
 * of two. */
typedef struct onx_fft {
    size_t n, m;      /* m: of the transforms that are taken apart; n itself, if it can be */
    onx_cplx *roots;  /* m: exp(-2 pi i k / m) */
    onx_cplx *chirp;  /* n: exp(-pi i k^2 / n) */
    onx_cplx *filter; /* m: the transform of its conjugate, around 0 */
    bool single;
    const onx_call *call; /* when that is stopped, transforms are left as they are */
} onx_fft;

/* Memory for onx_fft_init, and for each line that is transformed at a time. False: too much. */
bool onx_fft_bytes(size_t n, size_t *shared, size_t *each) ONX_MUST_CHECK;
/* n > 0. `memory` and `work` are of `shared` and `each` bytes, aligned for doubles. */
onx_fft onx_fft_init(const onx_call *call, size_t n, bool single, void *memory, onx_cplx *work);
/* Transform the first n numbers of `line`, in place. It is of `each` bytes. The inverse is not
 * scaled. */
void onx_fft_run(const onx_fft *fft, bool inverse, onx_cplx *line);

#endif
