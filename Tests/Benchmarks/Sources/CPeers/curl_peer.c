#include "peers.h"

#ifdef __linux__

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { max_width = 256 };

/// One exchange. Its handle is reused. The caller frees the received bytes.
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

/// Finishes the next exchange that has ended; NULL if there is none.
static exchange *finish_next(job *job) {
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(job->peer->multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        exchange *exchange = NULL;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&exchange);
        finish(job, exchange, result);
        return exchange;
    }
    return NULL;
}

// MARK: One thread, which is the caller and the sender.

static void *work(void *context) {
    job *job = context;
    CURLM *multi = job->peer->multi;
    int started = 0, running = 0;
    for (; started < job->width && started < job->count; started++) start(job, &job->peer->exchanges[started]);
    for (int done = 0; done < job->count;) {
        curl_multi_perform(multi, &running);
        for (exchange *exchange; (exchange = finish_next(job)); done++) {
            if (started < job->count) start(job, exchange), started++;
        }
        if (done < job->count) curl_multi_poll(multi, NULL, 0, 60000, NULL);
    }
    return NULL;
}

// MARK: Two threads: a caller and a sender.

/// A queue of exchanges' numbers between two threads.
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t some;
    int items[max_width], count;
    bool is_watched;
} mailbox;

typedef struct {
    job *job;
    mailbox requests, answers;
    bool is_over;
} handover;

static void open_mailbox(mailbox *box) {
    pthread_mutex_init(&box->lock, NULL);
    pthread_cond_init(&box->some, NULL);
}

static void close_mailbox(mailbox *box) {
    pthread_cond_destroy(&box->some);
    pthread_mutex_destroy(&box->lock);
}

/// Takes all elements, under the lock.
static int take(mailbox *box, int *items) {
    int count = box->count;
    memcpy(items, box->items, sizeof(int) * (size_t)count);
    box->count = 0;
    return count;
}

static void ask(handover *self, int number) {
    mailbox *box = &self->requests;
    pthread_mutex_lock(&box->lock);
    box->items[box->count++] = number;
    bool must_wake = box->is_watched;
    box->is_watched = false;
    pthread_mutex_unlock(&box->lock);
    if (must_wake) curl_multi_wakeup(self->job->peer->multi);
}

static void answer(handover *self, int number) {
    mailbox *box = &self->answers;
    pthread_mutex_lock(&box->lock);
    box->items[box->count++] = number;
    pthread_cond_signal(&box->some);
    pthread_mutex_unlock(&box->lock);
}

static int await_answers(handover *self, int *items) {
    mailbox *box = &self->answers;
    pthread_mutex_lock(&box->lock);
    while (!box->count) pthread_cond_wait(&box->some, &box->lock);
    int count = take(box, items);
    pthread_mutex_unlock(&box->lock);
    return count;
}

/// Takes the queued requests. If there are none, the next one wakes the thread.
static int next_requests(handover *self, int *items, bool *is_over) {
    mailbox *box = &self->requests;
    pthread_mutex_lock(&box->lock);
    int count = take(box, items);
    box->is_watched = !count;
    *is_over = self->is_over;
    pthread_mutex_unlock(&box->lock);
    return count;
}

static void *send_asked(void *context) {
    handover *self = context;
    job *job = self->job;
    CURLM *multi = job->peer->multi;
    int items[max_width], running = 0;
    for (bool is_over = false;;) {
        int count = next_requests(self, items, &is_over);
        if (is_over) return NULL;
        if (!count) curl_multi_poll(multi, NULL, 0, 60000, NULL);
        for (int index = 0; index < count; index++) start(job, &job->peer->exchanges[items[index]]);
        curl_multi_perform(multi, &running);
        for (exchange *exchange; (exchange = finish_next(job));) answer(self, (int)(exchange - job->peer->exchanges));
    }
}

static void end(handover *self) {
    pthread_mutex_lock(&self->requests.lock);
    self->is_over = true;
    pthread_mutex_unlock(&self->requests.lock);
    curl_multi_wakeup(self->job->peer->multi);
}

static void *ask_and_take(void *context) {
    job *job = context;
    handover self = {.job = job};
    pthread_t sender;
    open_mailbox(&self.requests);
    open_mailbox(&self.answers);
    if (pthread_create(&sender, NULL, send_asked, &self) == 0) {
        int items[max_width], started = 0;
        for (; started < job->width && started < job->count; started++) ask(&self, started);
        for (int done = 0; done < job->count;) {
            int count = await_answers(&self, items);
            done += count;
            for (int index = 0; index < count && started < job->count; index++, started++) ask(&self, items[index]);
        }
        end(&self);
        pthread_join(sender, NULL);
    }
    close_mailbox(&self.requests);
    close_mailbox(&self.answers);
    return NULL;
}

int curl_peer_run(curl_peer *peer, const char *url, int count, int width, size_t body_size, bool is_handed) {
    job job = {.peer = peer, .url = url, .count = count, .width = width < max_width ? width : max_width,
               .body_size = body_size};
    pthread_t thread;
    if (pthread_create(&thread, NULL, is_handed ? ask_and_take : work, &job) != 0) return 0;
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
