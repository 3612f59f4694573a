/* SPDX-License-Identifier: Apache-2.0 */
/* Claims behind http(s):// and s3://: each row of splitting.md 13.1, and the requests. */
#include "claim.h"
#include "claim_stream.h"

#include "unit.h"

#include "buf.h"
#include "canned_http.h"
#include "clock.h"
#include "s3.h"
#include "sigv4.h"
#include "temp_dir.h"

#include <unistd.h>

enum { PATIENCE_MS = 60000 };

static const char access_key[] = "AKIAEXAMPLE";
static const char secret_key[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

struct place {
    struct canned_http *server;
    struct remote_settings remote;
    struct claim_limits limits;
    struct arena arena;
    char sha256[DIGEST_HEX];
    char uri[512];
};

static int
set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    place->server = canned_http_start(NULL);
    place->remote = (struct remote_settings){
        .connect_timeout_ms = PATIENCE_MS,
        .stall_timeout_ms = PATIENCE_MS,
        .s3 = {.endpoint = canned_http_url(place->server),
               .region = "eu-west-1",
               .access_key = access_key,
               .secret_key = secret_key},
    };
    place->limits = (struct claim_limits){
        .max_bytes = 100,
        .max_spool_bytes = 200,
        .malformed = "trace_event_malformed",
        .remote = &place->remote,
    };
    digest_hex(SLICE("hello"), place->sha256);
    snprintf(place->uri, sizeof place->uri, "%s/a", canned_http_url(place->server));
    *state = place;
    return 0;
}

static int
tear_down(void **state)
{
    struct place *place = *state;
    canned_http_stop(place->server);
    arena_done(&place->arena);
    free(place);
    return 0;
}

static enum err_kind
fetch(struct place *place, const char *uri, int64_t size, struct err *err)
{
    struct slice bytes = {0};
    const struct claim claim = {slice_of(uri), size, slice_of(place->sha256)};
    *err = (struct err){0};
    enum err_kind kind =
        claim_fetch(&place->limits, &claim, "result", &place->arena, &bytes, err);
    if (!kind)
        assert_true(slice_is(bytes, "hello"));
    return kind;
}

static void
assert_refused(const struct err *err, enum err_kind kind, const char *code)
{
    assert_int_equal(err->kind, kind);
    assert_string_equal(err->code, code);
    assert_string_equal(err->stage, "gather");
    if (kind == ERR_RETRY)
        assert_string_equal(err->final_code, code);
}

/* What one answer of the server comes to, by http and by s3, in memory and spooled. */
static void
assert_answer(struct place *place,
              const struct canned_answer *answer,
              enum err_kind kind,
              const char *code)
{
    const char *const uris[] = {place->uri, "s3://bucket/a"};
    canned_http_answer(place->server, answer, 1);
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        struct err err = {0};
        fetch(place, uris[i], 5, &err);
        assert_refused(&err, kind, code);

        const struct claim claim = {slice_of(uris[i]), 5, slice_of(place->sha256)};
        struct claim_stream *stream = claim_stream_new(&place->limits, &claim, "trace");
        err = (struct err){0};
        claim_stream_open(stream, &err);
        assert_refused(&err, kind, code);
        claim_stream_free(stream);
    }
}

static void
assert_status(struct place *place, unsigned status, enum err_kind kind, const char *code)
{
    const struct canned_answer answer = {.status = status, .body = "hello"};
    assert_answer(place, &answer, kind, code);
}

static const struct canned_answer hello = {.status = 200, .body = "hello"};

/* --- rows of 13.1 ------------------------------------------------------------------ */

static void
fetches_by_http_and_s3(void **state)
{
    struct place *place = *state;
    struct err err;
    canned_http_answer(place->server, &hello, 1);
    assert_int_equal(fetch(place, place->uri, 5, &err), ERR_OK);
    assert_string_equal(canned_http_last_line(place->server), "GET /a");
    assert_string_equal(canned_http_last_header(place->server, "Authorization"), "");
    assert_int_equal(fetch(place, "s3://bucket/a", 5, &err), ERR_OK);
    assert_string_equal(canned_http_last_line(place->server), "GET /bucket/a");
}

static void
retries_what_is_not_there_and_says_so_in_the_end(void **state)
{
    assert_status(*state, 404, ERR_RETRY, "claim_not_found");
    assert_status(*state, 410, ERR_RETRY, "claim_not_found");
}

static void
refuses_at_once_what_it_may_not_read(void **state)
{
    assert_status(*state, 401, ERR_RECORD, "claim_denied");
    assert_status(*state, 403, ERR_RECORD, "claim_denied");
}

static void
retries_a_server_in_trouble(void **state)
{
    static const unsigned statuses[] = {500, 502, 503, 504, 429, 400, 206, 204, 304, 418};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        assert_status(*state, statuses[i], ERR_RETRY, "claim_unavailable");
}

static void
names_the_code_of_an_s3_error(void **state)
{
    struct place *place = *state;
    struct err err;
    const struct canned_answer answer = {
        .status = 503, .body = "<?xml?><Error><Code>SlowDown</Code></Error>"};
    canned_http_answer(place->server, &answer, 1);
    fetch(place, "s3://bucket/a", 5, &err);
    assert_non_null(strstr(err.msg, "HTTP 503 (SlowDown)"));
}

static void
retries_a_connection_that_is_refused(void **state)
{
    struct place *place = *state;
    struct err err;
    canned_http_refuse(place->server);
    snprintf(place->uri, sizeof place->uri, "%s/a", canned_http_url(place->server));
    fetch(place, place->uri, 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
    fetch(place, "s3://bucket/a", 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
    fetch(place, "http://host.invalid/a", 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
}

static void
retries_an_answer_that_is_cut_short(void **state)
{
    const struct canned_answer answer = {.status = 200, .body = "hello", .cut_after = 3};
    assert_answer(*state, &answer, ERR_RETRY, "claim_unavailable");
}

static void
retries_a_server_that_stalls(void **state)
{
    struct place *place = *state;
    struct err err;
    const struct canned_answer slow = {.status = 200, .body = "hello", .delay_ms = 4000};
    canned_http_answer(place->server, &slow, 1);
    place->remote.stall_timeout_ms = 1000;
    fetch(place, place->uri, 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
}

static void
ends_a_transfer_at_its_deadline(void **state)
{
    struct place *place = *state;
    struct err err;
    const struct canned_answer slow = {.status = 200, .body = "hello", .delay_ms = 1500};
    canned_http_answer(place->server, &slow, 1);
    place->limits.deadline_ms = clock_monotonic_ms() + 200;
    fetch(place, place->uri, 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
    fetch(place, place->uri, 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
}

static void
refuses_at_once_another_size_or_digest(void **state)
{
    static const char *const bodies[] = {"hell", "hello!", "hallo", ""};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        const struct canned_answer answer = {.status = 200, .body = bodies[i]};
        assert_answer(*state, &answer, ERR_RECORD, "claim_mismatch");
    }
}

static void
says_what_lies_there_instead(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    char sha256[DIGEST_HEX];
    const struct canned_answer other = {.status = 200, .body = "something else"};
    const struct claim claim = {slice_of(place->uri), 5, slice_of(place->sha256)};
    canned_http_answer(place->server, &other, 1);
    struct claim_stream *stream = claim_stream_new(&place->limits, &claim, "trace");

    claim_stream_open(stream, &err);

    digest_hex(slice_of(other.body), sha256);
    assert_true(claim_stream_found(stream)->has_size);
    assert_int_equal(claim_stream_found(stream)->size, 14);
    assert_string_equal(claim_stream_found(stream)->sha256, sha256);
    claim_stream_free(stream);
}

static void
stops_reading_at_its_ceiling(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    static char body[64 * 1024];
    memset(body, 'x', sizeof body - 1);
    const struct canned_answer endless = {.status = 200, .body = body};
    const struct claim claim = {slice_of(place->uri), 5, slice_of(place->sha256)};
    canned_http_answer(place->server, &endless, 1);
    struct claim_stream *stream = claim_stream_new(&place->limits, &claim, "trace");

    claim_stream_open(stream, &err);

    assert_refused(&err, ERR_RECORD, "claim_mismatch");
    assert_false(claim_stream_found(stream)->has_size);
    assert_string_equal(claim_stream_found(stream)->sha256, "");
    claim_stream_free(stream);
}

static void
refuses_what_can_be_no_claim(void **state)
{
    static const char *const uris[] = {
        "ftp://host/a", "gopher://host/a", "/tmp/x",       "",
        "http://",      "s3://bucket",     "s3://bucket/", "s3://bucket/%0",
        "s3:///key",    "s3://b@d/key",    "s3://../key",
    };
    struct place *place = *state;
    struct err err;
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        fetch(place, uris[i], 5, &err);
        assert_refused(&err, ERR_RECORD, "trace_event_malformed");
    }
    fetch(place, place->uri, -1, &err);
    assert_refused(&err, ERR_RECORD, "trace_event_malformed");
    fetch(place, place->uri, 101, &err);
    assert_refused(&err, ERR_RECORD, "trace_event_malformed");
    place->limits.remote = NULL;
    fetch(place, place->uri, 5, &err);
    assert_refused(&err, ERR_RECORD, "trace_event_malformed");
    assert_int_equal(canned_http_requests(place->server), 0);
}

/* --- redirects --------------------------------------------------------------------- */

static void
follows_a_redirect(void **state)
{
    struct place *place = *state;
    struct err err;
    const struct canned_answer rows[] = {
        {.path = "/a", .status = 302, .header = {"Location", "/b"}},
        {.path = "/b", .status = 200, .body = "hello"},
    };
    canned_http_answer(place->server, rows, 2);
    assert_int_equal(fetch(place, place->uri, 5, &err), ERR_OK);
}

static void
leaves_a_circle_of_redirects(void **state)
{
    struct place *place = *state;
    struct err err;
    const struct canned_answer circle = {.status = 302, .header = {"Location", "/a"}};
    canned_http_answer(place->server, &circle, 1);
    fetch(place, place->uri, 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
    assert_int_equal(canned_http_requests(place->server), 4);
}

static void
follows_no_redirect_to_a_file(void **state)
{
    struct place *place = *state;
    struct err err;
    const struct canned_answer away = {.status = 302,
                                       .header = {"Location", "file:///etc/passwd"}};
    canned_http_answer(place->server, &away, 1);
    fetch(place, place->uri, 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
}

static void
sends_a_signed_request_to_nobody_else(void **state)
{
    struct place *place = *state;
    struct err err;
    const struct canned_answer rows[] = {
        {.path = "/bucket/a", .status = 307, .header = {"Location", "/b"}},
        {.path = "/b", .status = 200, .body = "hello"},
    };
    canned_http_answer(place->server, rows, 2);
    fetch(place, "s3://bucket/a", 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
    assert_int_equal(canned_http_requests(place->server), 1);
}

/* --- TLS --------------------------------------------------------------------------- */

static void
make_certificate(const char *cert, const char *key)
{
    char command[2048];
    snprintf(command, sizeof command,
             "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 "
             "-addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s 2>/dev/null",
             key, cert);
    assert_int_equal(system(command), 0);
}

static void
checks_the_certificate_of_a_server(void **state)
{
    struct place *place = *state;
    struct err err;
    struct temp_dir dir;
    char uri[256];
    assert_true(temp_dir_make(&dir));
    char *cert = temp_path(&dir, "cert.pem");
    char *key = temp_path(&dir, "key.pem");
    make_certificate(cert, key);
    struct canned_http *secure =
        canned_http_start(&(struct canned_options){.cert_file = cert, .key_file = key});
    const struct canned_answer rows[] = {
        {.path = "/a", .status = 200, .body = "hello"},
        {.status = 302, .header = {"Location", place->uri}},
    };
    canned_http_answer(secure, rows, 2);
    canned_http_answer(place->server, &hello, 1);
    snprintf(uri, sizeof uri, "%s/a", canned_http_url(secure));

    fetch(place, uri, 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");

    place->remote.ca_file = cert;
    assert_int_equal(fetch(place, uri, 5, &err), ERR_OK);

    /* From https to http nothing leads. */
    snprintf(uri, sizeof uri, "%s/elsewhere", canned_http_url(secure));
    fetch(place, uri, 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
    assert_int_equal(canned_http_requests(place->server), 0);

    canned_http_stop(secure);
    free(cert);
    free(key);
    temp_dir_done(&dir);
}

/* --- secrets ----------------------------------------------------------------------- */

static void
shows_no_password_and_no_query(void **state)
{
    struct place *place = *state;
    struct err err;
    char uri[512];
    canned_http_answer(place->server, &(struct canned_answer){.status = 503}, 1);
    snprintf(uri, sizeof uri, "http://me:hidden@%s/a?X-Amz-Signature=hidden",
             canned_http_url(place->server) + strlen("http://"));
    fetch(place, uri, 5, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
    assert_null(strstr(err.msg, "hidden"));
    assert_non_null(strstr(err.msg, canned_http_url(place->server)));

    canned_http_refuse(place->server);
    snprintf(uri, sizeof uri, "http://me:hidden@%s/a?X-Amz-Signature=hidden",
             canned_http_url(place->server) + strlen("http://"));
    fetch(place, uri, 5, &err);
    assert_null(strstr(err.msg, "hidden"));
}

/* What stands behind the query looks like a host or a user, and is neither. */
static void
shows_no_query_whatever_it_holds(void **state)
{
    struct place *place = *state;
    static const char *const uris[] = {"http://127.0.0.1:1?user=a@b.com&sig=hidden",
                                       "http://127.0.0.1:1/a?@hidden",
                                       "http://127.0.0.1:1#@hidden",
                                       "http?://x@hidden",
                                       "http",
                                       "http:/me:hidden@h/a?"};
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        struct err err;
        assert_int_not_equal(fetch(place, uris[i], 5, &err), ERR_OK);
        assert_null(strstr(err.msg, "hidden&"));
        assert_null(strstr(err.msg, "sig="));
        assert_null(strstr(err.msg, "@hidden"));
        assert_null(strstr(err.msg, "b.com"));
    }
}

/* Longer than a message may be. */
static void
shows_no_query_of_a_long_address(void **state)
{
    struct place *place = *state;
    enum { LONG = 2000 };
    CLEANUP(buf_done) struct buf uri = BUF_INIT;
    struct err err;
    canned_http_refuse(place->server);
    buf_addf(&uri, "http://me:hidden@%s/a?X-Amz-Signature=hidden",
             canned_http_url(place->server) + strlen("http://"));
    for (int i = 0; i < LONG; i++)
        buf_add_byte(&uri, 'x');

    fetch(place, buf_text(&uri), 5, &err);

    assert_refused(&err, ERR_RETRY, "claim_unavailable");
    assert_null(strstr(err.msg, "hidden"));
    assert_null(strstr(err.msg, "xxx"));
    assert_non_null(strstr(err.msg, "connect"));
}

/* The page beside the status is of no interest, however large. */
static void
judges_by_its_status_an_answer_with_a_large_page(void **state)
{
    static char page[200 * 1024];
    memset(page, 'x', sizeof page - 1);
    assert_answer(*state, &(struct canned_answer){.status = 403, .body = page},
                  ERR_RECORD, "claim_denied");
    assert_answer(*state, &(struct canned_answer){.status = 404, .body = page}, ERR_RETRY,
                  "claim_not_found");
    assert_answer(*state, &(struct canned_answer){.status = 500, .body = page}, ERR_RETRY,
                  "claim_unavailable");
}

/* --- S3 ---------------------------------------------------------------------------- */

static const char *
header_of(void *state, const char *name)
{
    return canned_http_last_header(state, name);
}

static bool
is_signed(const struct place *place, const char *key)
{
    const struct sigv4_request request = {
        .line = canned_http_last_line(place->server),
        .authorization = canned_http_last_header(place->server, "Authorization"),
        .header = header_of,
        .state = place->server,
    };
    return sigv4_is_right(&request, key);
}

static const char *
known_header(void *state, const char *name)
{
    static const char *const headers[][2] = {
        {"host", "examplebucket.s3.amazonaws.com"},
        {"range", "bytes=0-9"},
        {"x-amz-content-sha256",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"x-amz-date", "20130524T000000Z"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        if (strcmp(name, headers[i][0]) == 0)
            return headers[i][1];
    return "";
}

/* The example of Amazon's description, so that the judge is judged, too. */
static void
the_judge_of_signatures_knows_a_right_one(void **state)
{
    (void)state;
    struct sigv4_request request = {
        .line = "GET /test.txt",
        .authorization =
            "AWS4-HMAC-SHA256 "
            "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        .header = known_header,
    };
    assert_true(sigv4_is_right(&request, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"));
    assert_false(sigv4_is_right(&request, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEX"));
    request.line = "GET /test.txu";
    assert_false(sigv4_is_right(&request, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"));
}

static void
signs_what_it_asks_for(void **state)
{
    struct place *place = *state;
    struct err err;
    canned_http_answer(place->server, &hello, 1);

    assert_int_equal(fetch(place, "s3://bucket/a/b.json.gz", 5, &err), ERR_OK);

    const char *authorization = canned_http_last_header(place->server, "Authorization");
    assert_non_null(strstr(authorization, "Credential=AKIAEXAMPLE/"));
    assert_non_null(strstr(authorization, "/eu-west-1/s3/aws4_request"));
    assert_non_null(strstr(authorization, "host;x-amz-content-sha256;x-amz-date"));
    assert_true(is_signed(place, secret_key));
    assert_false(is_signed(place, "another"));
}

static void
sends_and_signs_the_token_of_a_lent_key(void **state)
{
    struct place *place = *state;
    struct err err;
    place->remote.s3.session_token = "lent";
    canned_http_answer(place->server, &hello, 1);
    assert_int_equal(fetch(place, "s3://bucket/a", 5, &err), ERR_OK);
    assert_string_equal(canned_http_last_header(place->server, "x-amz-security-token"),
                        "lent");
    assert_non_null(strstr(canned_http_last_header(place->server, "Authorization"),
                           "x-amz-security-token"));
    assert_true(is_signed(place, secret_key));
}

static void
asks_without_a_signature_where_there_is_no_key(void **state)
{
    struct place *place = *state;
    struct err err;
    place->remote.s3.access_key = NULL;
    canned_http_answer(place->server, &hello, 1);
    assert_int_equal(fetch(place, "s3://bucket/a", 5, &err), ERR_OK);
    assert_string_equal(canned_http_last_header(place->server, "Authorization"), "");
}

static void
addresses_the_bucket_as_told(void **state)
{
    static const struct {
        struct s3_settings settings;
        const char *url;
    } cases[] = {
        {{.region = "eu-west-1"}, "https://s3.eu-west-1.amazonaws.com/bucket/a/b%20c"},
        {{.region = "eu-west-1", .addressing = S3_ADDRESSING_VIRTUAL},
         "https://bucket.s3.eu-west-1.amazonaws.com/a/b%20c"},
        {{.endpoint = "http://minio:9000/"}, "http://minio:9000/bucket/a/b%20c"},
        {{.endpoint = "http://minio:9000", .addressing = S3_ADDRESSING_VIRTUAL},
         "http://bucket.minio:9000/a/b%20c"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf url = BUF_INIT;
        s3_add_url(&cases[i].settings, SLICE("bucket"), SLICE("a/b c"), &url);
        assert_string_equal(buf_text(&url), cases[i].url);
        buf_done(&url);
    }
}

static void
wants_an_endpoint_and_a_whole_key(void **state)
{
    static const struct s3_settings bad[] = {
        {.endpoint = "minio:9000"},
        {.access_key = "id"},
        {.secret_key = "key"},
    };
    static const struct s3_settings good[] = {
        {.region = "x"},
        {.endpoint = "https://minio", .access_key = "id", .secret_key = "key"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};
        assert_int_equal(s3_check(&bad[i], &err), ERR_FATAL);
        assert_int_equal(err.exit_code, EXIT_CONFIG);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(s3_check(&good[i], NULL), ERR_OK);
}

/* microhttpd undoes the escapes of the line, so that it can't be signed again here. */
static void
keeps_every_byte_of_a_key(void **state)
{
    struct place *place = *state;
    struct err err;
    canned_http_answer(place->server, &hello, 1);
    assert_int_equal(fetch(place, "s3://bucket/a%20b/%25~+=&$@:,;!'()*/..%2F.", 5, &err),
                     ERR_OK);
    assert_string_equal(canned_http_last_line(place->server),
                        "GET /bucket/a b/%~+=&$@:,;!'()*/../.");
}

/* --- spools ------------------------------------------------------------------------ */

static void
spools_once_and_reads_as_often_as_wanted(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const struct claim claim = {slice_of(place->uri), 5, slice_of(place->sha256)};
    canned_http_answer(place->server, &hello, 1);
    struct claim_stream *stream = claim_stream_new(&place->limits, &claim, "trace");
    assert_int_equal(claim_stream_open(stream, &err), ERR_OK);

    for (int pass = 0; pass < 3; pass++) {
        char bytes[16] = "";
        size_t len = 0;
        size_t got = 0;
        assert_int_equal(claim_stream_rewind(stream, &err), ERR_OK);
        do {
            assert_int_equal(claim_stream_read(stream, bytes + got, 2, &len, &err),
                             ERR_OK);
            got += len;
        } while (len > 0);
        assert_string_equal(bytes, "hello");
        assert_int_equal(claim_stream_verify(stream, &err), ERR_OK);
    }

    assert_int_equal(claim_stream_check(stream, &err), ERR_OK);
    assert_int_equal(canned_http_requests(place->server), 1);
    claim_stream_free(stream);
}

static void
spools_no_more_than_it_may(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const struct claim claim = {slice_of(place->uri), 201, slice_of(place->sha256)};
    struct claim_stream *stream = claim_stream_new(&place->limits, &claim, "trace");
    assert_int_equal(claim_stream_open(stream, &err), ERR_RECORD);
    assert_string_equal(err.code, "trace_too_large");
    assert_int_equal(canned_http_requests(place->server), 0);
    claim_stream_free(stream);
}

static void
retries_when_there_is_no_room_for_a_spool(void **state)
{
    struct place *place = *state;
    struct err err = {0};
    const struct claim claim = {slice_of(place->uri), 5, slice_of(place->sha256)};
    place->limits.tmp_dir = "/absent";
    struct claim_stream *stream = claim_stream_new(&place->limits, &claim, "trace");
    claim_stream_open(stream, &err);
    assert_refused(&err, ERR_RETRY, "claim_unavailable");
    assert_non_null(strstr(err.msg, "tmp_dir"));
    claim_stream_free(stream);
}

int
main(void)
{
#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PLACE_TEST(fetches_by_http_and_s3),
        PLACE_TEST(retries_what_is_not_there_and_says_so_in_the_end),
        PLACE_TEST(refuses_at_once_what_it_may_not_read),
        PLACE_TEST(retries_a_server_in_trouble),
        PLACE_TEST(names_the_code_of_an_s3_error),
        PLACE_TEST(retries_a_connection_that_is_refused),
        PLACE_TEST(retries_an_answer_that_is_cut_short),
        PLACE_TEST(retries_a_server_that_stalls),
        PLACE_TEST(ends_a_transfer_at_its_deadline),
        PLACE_TEST(refuses_at_once_another_size_or_digest),
        PLACE_TEST(says_what_lies_there_instead),
        PLACE_TEST(stops_reading_at_its_ceiling),
        PLACE_TEST(refuses_what_can_be_no_claim),
        PLACE_TEST(follows_a_redirect),
        PLACE_TEST(leaves_a_circle_of_redirects),
        PLACE_TEST(follows_no_redirect_to_a_file),
        PLACE_TEST(sends_a_signed_request_to_nobody_else),
        PLACE_TEST(checks_the_certificate_of_a_server),
        PLACE_TEST(shows_no_password_and_no_query),
        PLACE_TEST(shows_no_query_whatever_it_holds),
        PLACE_TEST(shows_no_query_of_a_long_address),
        PLACE_TEST(judges_by_its_status_an_answer_with_a_large_page),
        cmocka_unit_test(the_judge_of_signatures_knows_a_right_one),
        PLACE_TEST(signs_what_it_asks_for),
        PLACE_TEST(sends_and_signs_the_token_of_a_lent_key),
        PLACE_TEST(asks_without_a_signature_where_there_is_no_key),
        cmocka_unit_test(addresses_the_bucket_as_told),
        cmocka_unit_test(wants_an_endpoint_and_a_whole_key),
        PLACE_TEST(keeps_every_byte_of_a_key),
        PLACE_TEST(spools_once_and_reads_as_often_as_wanted),
        PLACE_TEST(spools_no_more_than_it_may),
        PLACE_TEST(retries_when_there_is_no_room_for_a_spool),
    };
    return cmocka_run_group_tests_name("claim_remote", tests, NULL, NULL);
}
