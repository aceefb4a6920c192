# The commands that ask the job server, beside a server made for the test.
add_test(NAME commands_ask_the_job_server
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/serve/test_client_requests.py $<TARGET_FILE:tutti_program>)
set_tests_properties(commands_ask_the_job_server PROPERTIES LABELS ranks TIMEOUT ${timeout})
# Jobs from serve to rm, with tutti-server.
add_test(NAME jobs_of_the_server_end_with_the_weights_of_plain_runs
         COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/serve/test_client.py $<TARGET_FILE:tutti_program>)
set_tests_properties(jobs_of_the_server_end_with_the_weights_of_plain_runs PROPERTIES LABELS ranks PROCESSORS 2
                     ${longest} SKIP_RETURN_CODE 77)
