#include "peers.h"

#ifdef __linux__

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { max_width = 256 };

/// One exchange: its handle is used again and again, what it received is the caller's to free.
typedef struct exchange {
    CURL *easy;
    char *head, *body;
    size_t head_size, body_size, head_room, body_room;
} exchange;

struct curl_peer {
    CURLM *multi;
    struct curl_slist *fields;
    exchange exchanges[max_width];
};

typedef struct {
    curl_peer *peer;
    const char *url;
    int count, width, answered;
    size_t body_size;
} job;

static bool append(char **bytes, size_t *size, size_t *room, const char *more, size_t count) {
    if (*size + count > *room) {
        size_t wanted = *size + count < 1024 ? 1024 : 2 * (*size + count);
        char *grown = realloc(*bytes, wanted);
        if (!grown) return false;
        *bytes = grown;
        *room = wanted;
    }
    memcpy(*bytes + *size, more, count);
    *size += count;
    return true;
}

static size_t receive_header(char *bytes, size_t size, size_t count, void *context) {
    exchange *self = context;
    return append(&self->head, &self->head_size, &self->head_room, bytes, size * count) ? size * count : 0;
}

static size_t receive_body(char *bytes, size_t size, size_t count, void *context) {
    exchange *self = context;
    return append(&self->body, &self->body_size, &self->body_room, bytes, size * count) ? size * count : 0;
}

curl_peer *curl_peer_open(void) {
    curl_global_init(CURL_GLOBAL_ALL);
    curl_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return NULL;
    peer->multi = curl_multi_init();
    curl_multi_setopt(peer->multi, CURLMOPT_MAXCONNECTS, 256L);
    peer->fields = curl_slist_append(curl_slist_append(NULL, "User-Agent: Diamond"), "Accept:");
    return peer;
}

static CURL *make_handle(exchange *exchange) {
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, receive_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, exchange);
    return easy;
}

static void start(job *job, exchange *exchange) {
    if (!exchange->easy) exchange->easy = make_handle(exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_URL, job->url);
    curl_easy_setopt(exchange->easy, CURLOPT_HTTPHEADER, job->peer->fields);
    curl_multi_add_handle(job->peer->multi, exchange->easy);
}

static void finish(job *job, exchange *exchange, CURLcode result) {
    long status = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    if (result == CURLE_OK && status == 200 && exchange->body_size == job->body_size) job->answered++;
    curl_multi_remove_handle(job->peer->multi, exchange->easy);
    free(exchange->head);
    free(exchange->body);
    *exchange = (struct exchange){.easy = exchange->easy};
}

static void *work(void *context) {
    job *job = context;
    CURLM *multi = job->peer->multi;
    int started = 0, running = 0, left = 0;
    for (; started < job->width && started < job->count; started++) start(job, &job->peer->exchanges[started]);
    for (int done = 0; done < job->count;) {
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            exchange *exchange = NULL;
            CURLcode result = message->data.result;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&exchange);
            finish(job, exchange, result);
            done++;
            if (started < job->count) start(job, exchange), started++;
        }
        if (done < job->count) curl_multi_poll(multi, NULL, 0, 60000, NULL);
    }
    return NULL;
}

int curl_peer_run(curl_peer *peer, const char *url, int count, int width, size_t body_size) {
    job job = {.peer = peer, .url = url, .count = count, .width = width < max_width ? width : max_width,
               .body_size = body_size};
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &job) != 0) return 0;
    pthread_join(thread, NULL);
    return job.answered;
}

void curl_peer_close(curl_peer *peer) {
    for (int index = 0; index < max_width; index++) {
        if (peer->exchanges[index].easy) curl_easy_cleanup(peer->exchanges[index].easy);
    }
    curl_multi_cleanup(peer->multi);
    curl_slist_free_all(peer->fields);
    free(peer);
}

#endif
