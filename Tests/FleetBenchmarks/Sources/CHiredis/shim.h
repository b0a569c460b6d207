#include <hiredis/hiredis.h>

// redisCommand takes any number of arguments, which Swift cannot pass.
static inline int hiredis_set(redisContext *context, const char *key, const char *value) {
    redisReply *reply = (redisReply *)redisCommand(context, "SET %s %s", key, value);
    if (reply == NULL) return 0;
    int is_set = reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return is_set;
}

static inline long long hiredis_get(redisContext *context, const char *key) {
    redisReply *reply = (redisReply *)redisCommand(context, "GET %s", key);
    if (reply == NULL) return -1;
    long long length = reply->type == REDIS_REPLY_STRING ? (long long)reply->len : -1;
    freeReplyObject(reply);
    return length;
}
