#ifndef CDIAMOND_CURL_SHIM_H
#define CDIAMOND_CURL_SHIM_H

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>

// Swift cannot call C variadics: every setopt and getinfo of the package stands here.

typedef size_t (*diamond_curl_data_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*diamond_curl_seek_callback)(void *context, curl_off_t offset, int origin);
typedef int (*diamond_curl_begin_callback)(void *context, char *ip, char *local_ip, int port, int local_port);
typedef int (*diamond_curl_socket_callback)(void *context, curl_socket_t socket, curlsocktype purpose);
typedef int (*diamond_curl_debug_callback)(CURL *handle, curl_infotype kind, char *bytes, size_t count, void *context);

static inline CURLcode diamond_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode diamond_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode diamond_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

/// libcurl copies the text.
static inline CURLcode diamond_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

/// Certificates in PEM that vouch for servers and proxies, and nobody else (libcurl 7.77). libcurl copies them.
static inline CURLcode diamond_curl_set_roots(CURL *handle, const void *bytes, size_t count) {
#if LIBCURL_VERSION_NUM >= 0x074D00
    struct curl_blob roots = {(void *)bytes, count, CURL_BLOB_COPY};
    CURLcode result = curl_easy_setopt(handle, CURLOPT_CAINFO_BLOB, &roots);
    if (result == CURLE_OK) result = curl_easy_setopt(handle, CURLOPT_PROXY_CAINFO_BLOB, &roots);
    if (result == CURLE_OK) result = curl_easy_setopt(handle, CURLOPT_CAPATH, NULL);
    if (result == CURLE_OK) result = curl_easy_setopt(handle, CURLOPT_PROXY_CAPATH, NULL);
    return result;
#else
    return CURLE_NOT_BUILT_IN;
#endif
}

/// Where libcurl was built to look for trusted certificates; NULL where it does not tell (before 7.84). Lasts as long as the
/// handle.
static inline const char *diamond_curl_default_roots(CURL *handle) {
    char *path = NULL;
#if LIBCURL_VERSION_NUM >= 0x075400
    curl_easy_getinfo(handle, CURLINFO_CAINFO, &path);
#endif
    return path;
}

static inline CURLcode diamond_curl_set_data_callback(CURL *handle, CURLoption option, diamond_curl_data_callback value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode diamond_curl_set_seek_callback(CURL *handle, diamond_curl_seek_callback value) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, value);
}

#if LIBCURL_VERSION_NUM >= 0x075000
#define DIAMOND_CURL_TELLS_BEGINNING 1
#else
#define DIAMOND_CURL_TELLS_BEGINNING 0
#endif

/// Whether the begin callback is ever called (libcurl 7.80).
static inline int diamond_curl_tells_beginning(void) { return DIAMOND_CURL_TELLS_BEGINNING; }

/// Called each time before the request is sent; anything but 0 ends the transfer.
static inline CURLcode diamond_curl_set_begin_callback(CURL *handle, diamond_curl_begin_callback value) {
#if DIAMOND_CURL_TELLS_BEGINNING
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
#else
    return CURLE_OK;
#endif
}

/// Called with each socket before it connects; anything but 0 ends the transfer.
static inline CURLcode diamond_curl_set_socket_callback(CURL *handle, diamond_curl_socket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, value);
}

/// Called with messages, and with the bytes of the connection, while CURLOPT_VERBOSE is set.
static inline CURLcode diamond_curl_set_debug_callback(CURL *handle, diamond_curl_debug_callback value) {
    return curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, value);
}

/// What every callback gets.
static inline void diamond_curl_set_context(CURL *handle, void *context) {
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
    curl_easy_setopt(handle, CURLOPT_READDATA, context);
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, context);
    curl_easy_setopt(handle, CURLOPT_SOCKOPTDATA, context);
    curl_easy_setopt(handle, CURLOPT_DEBUGDATA, context);
#if DIAMOND_CURL_TELLS_BEGINNING
    curl_easy_setopt(handle, CURLOPT_PREREQDATA, context);
#endif
}

/// http and https, and nothing else that libcurl was built with.
static inline CURLcode diamond_curl_only_http(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/// Lets a canceled transfer go without waiting for the thread that looks its name up (libcurl 7.87).
static inline CURLcode diamond_curl_quick_exit(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
    return CURLE_OK;
#endif
}

static inline long diamond_curl_get_long(CURL *handle, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(handle, info, &value);
    return value;
}

static inline curl_off_t diamond_curl_get_offset(CURL *handle, CURLINFO info) {
    curl_off_t value = 0;
    curl_easy_getinfo(handle, info, &value);
    return value;
}

typedef int (*diamond_curl_pending_function)(const void *session) __attribute__((swift_attr("@Sendable")));

/// SSL_pending of the OpenSSL that libcurl has loaded; another one of the process may differ. NULL if it has none.
static inline diamond_curl_pending_function diamond_curl_find_pending(void) {
    diamond_curl_pending_function pending = NULL;
    void *library = dlopen("libcurl.so.4", RTLD_NOLOAD | RTLD_LAZY);
    if (library) *(void **)&pending = dlsym(library, "SSL_pending");
    return pending;
}

/// The number of bytes that OpenSSL has decrypted and libcurl has not read; 0 for other libraries. For callbacks only,
/// because the handle has a connection only in its transfer.
static inline int diamond_curl_decrypted_bytes(CURL *handle, diamond_curl_pending_function pending) {
    struct curl_tlssessioninfo *session = NULL;
    curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &session);
    if (!session || !session->internals || session->backend != CURLSSLBACKEND_OPENSSL) return 0;
    return pending ? pending(session->internals) : 0;
}

/// The local port of a connected socket; -1 for any other.
static inline int diamond_socket_port(int socket) {
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getpeername(socket, (struct sockaddr *)&address, &size) != 0) return -1;
    size = sizeof(address);
    if (getsockname(socket, (struct sockaddr *)&address, &size) != 0) return -1;
    switch (address.ss_family) {
    case AF_INET: return ntohs(((struct sockaddr_in *)&address)->sin_port);
    case AF_INET6: return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    default: return -1;
    }
}

/// Whether a socket is open at either end, and has nothing to read.
static inline int diamond_socket_is_quiet(int socket) {
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

static inline CURLMcode diamond_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// The result of a finished transfer, or -1 for another message.
static inline int diamond_curl_message_result(const CURLMsg *message) {
    return message->msg == CURLMSG_DONE ? (int)message->data.result : -1;
}

/// Names the calling thread for debuggers and `top`; Foundation keeps a thread's name to itself.
static inline void diamond_curl_name_thread(const char *name) {
    prctl(PR_SET_NAME, name);
}

// CURLE_SSL_CLIENTCERT, which the headers have from libcurl 7.77 on.
static const CURLcode diamond_curl_certificate_required = (CURLcode)98;

// CURLE_TOO_LARGE, which the headers have from libcurl 8.6 on.
static const CURLcode diamond_curl_too_large = (CURLcode)100;

// Macros that Swift does not see, because they cast.
static const size_t diamond_curl_pause_writing = CURL_WRITEFUNC_PAUSE;
static const size_t diamond_curl_pause_reading = CURL_READFUNC_PAUSE;
static const size_t diamond_curl_abort_reading = CURL_READFUNC_ABORT;

#endif
